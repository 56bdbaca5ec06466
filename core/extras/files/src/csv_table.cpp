// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/file_source.h"
#include "belfry/detail/options_text.h"
#include "belfry/detail/print_value.h"
#include "belfry/error.h"
#include "belfry/files/csv.h"
#include "csv_fault.h"
#include "parse_number.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace belfry {
namespace {

std::string quoted(std::string_view name) { return "\"" + detail::printable(name) + "\""; }

[[noreturn]] void throw_bad_name(const std::string& what, const std::string& hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
}

// Spaces and tabulators are no part of a number.
std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// The bytes of the number for missing fields; none without a number.
std::vector<std::byte> bytes_of_missing(std::optional<double> missing, DType dtype, CallSite site) {
  std::vector<std::byte> bytes;
  if (!missing || detail::append_value(*missing, dtype, bytes)) return bytes;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "CsvOptions::missing, " + detail::number_text(*missing) + ", is no " + to_string(dtype),
      "name a number that every column has, or ask for another type", site);
}

}  // namespace

void detail::fail_at(const std::string& name, CsvPlace place, const std::string& what,
                     CallSite site, const std::string& hint) {
  throw InvalidArgumentError(
      ErrorCode::kFileFormat,
      name + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " + what,
      hint, site);
}

std::int64_t CsvTable::column(std::string_view name, CallSite site) const {
  const auto found = std::ranges::find(header_, name);
  if (found == header_.end()) {
    throw_bad_name(name_ + " has no column " + quoted(name),
                   "read it with has_header, and ask for a name of its first line", site);
  }
  const auto again = std::find(found + 1, header_.end(), name);
  if (again != header_.end()) {
    throw_bad_name(name_ + " has several columns " + quoted(name) + ": " +
                       std::to_string(found - header_.begin()) + " and " +
                       std::to_string(again - header_.begin()),
                   "ask for these columns by their numbers, which count from 0", site);
  }
  return found - header_.begin();
}

std::vector<std::int64_t> CsvTable::named(const std::vector<std::string>& names,
                                          CallSite site) const {
  if (names.empty()) throw_bad_name("no columns are named", "name one or more", site);
  std::vector<std::int64_t> columns;
  for (const std::string& name : names) {
    columns.push_back(column(name, site));
    if (std::ranges::count(columns, columns.back()) > 1) {
      throw_bad_name("column " + quoted(name) + " is named twice", "name each column once", site);
    }
  }
  return columns;
}

std::vector<std::int64_t> CsvTable::range(std::int64_t begin, std::int64_t end,
                                          CallSite site) const {
  if (begin < 0 || begin >= end || end > num_columns()) {
    throw InvalidArgumentError(ErrorCode::kOutOfBounds,
                               "columns " + std::to_string(begin) + " to " + std::to_string(end) +
                                   " of a table of " + std::to_string(num_columns()),
                               "columns are numbered from 0; the last one is left out", site);
  }
  std::vector<std::int64_t> columns(static_cast<std::size_t>(end - begin));
  std::iota(columns.begin(), columns.end(), begin);
  return columns;
}

std::string_view CsvTable::text(std::int64_t row, std::int64_t column, CallSite site) const {
  if (row < 0 || row >= num_rows_ || column < 0 || column >= num_columns()) {
    throw InvalidArgumentError(
        ErrorCode::kOutOfBounds,
        "field " + std::to_string(column) + " of row " + std::to_string(row) + " of a table of " +
            std::to_string(num_rows_) + " rows and " + std::to_string(num_columns()) + " columns",
        "both are numbered from 0", site);
  }
  const detail::CsvField& at = field(row, column);
  return std::string_view(text_).substr(at.begin, at.size);
}

void CsvTable::throw_no_number(std::int64_t row, std::int64_t column, DType dtype,
                               bool is_out_of_range, CallSite site) const {
  const detail::CsvField& at = field(row, column);
  const std::string_view text = std::string_view(text_).substr(at.begin, at.size);
  if (without_blanks(text).empty()) {
    const std::string& name = header_[static_cast<std::size_t>(column)];
    detail::fail_at(name_, {at.line, at.column},
                    "row " + std::to_string(row) + " has no number in column " +
                        std::to_string(column) + (name.empty() ? "" : " " + quoted(name)) + " (" +
                        to_string(dtype) + ")",
                    site, "CsvOptions::missing is the number for empty fields");
  }
  const std::string shown = "'" + detail::printable(text) + "'";
  detail::fail_at(name_, {at.line, at.column},
                  is_out_of_range ? shown + " does not fit " + to_string(dtype)
                                  : shown + " is no number (" + to_string(dtype) + ")",
                  site);
}

HostArray CsvTable::parse_numbers(DType dtype, std::span<const std::int64_t> columns,
                                  CallSite site) const {
  const std::vector<std::byte> missing = bytes_of_missing(missing_, dtype, site);
  const auto width = static_cast<std::int64_t>(columns.size());
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(num_rows_ * width) * size_of(dtype));
  for (std::int64_t row = 0; row < num_rows_; ++row) {
    for (const std::int64_t column : columns) {
      const detail::CsvField& at = field(row, column);
      const std::string_view number =
          without_blanks(std::string_view(text_).substr(at.begin, at.size));
      if (number.empty() && missing_) {
        bytes.insert(bytes.end(), missing.begin(), missing.end());
        continue;
      }
      const detail::NumberText outcome = detail::append_number(number, dtype, bytes);
      if (outcome == detail::NumberText::kFine) continue;
      throw_no_number(row, column, dtype, outcome == detail::NumberText::kOutOfRange, site);
    }
  }
  return HostArray(dtype, Shape{num_rows_, width}, std::move(bytes), site).from_file(name_);
}

std::string to_string(const CsvOptions& options) {
  const CsvOptions usual;
  detail::OptionsText text;
  text.add("separator", options.separator, usual.separator);
  text.add("has_header", options.has_header, usual.has_header);
  text.add("skip_lines", options.skip_lines, usual.skip_lines);
  text.add("missing", options.missing, usual.missing);
  return text.text();
}

std::string to_string(const CsvTable& table) {
  return table.name() + ": " + std::to_string(table.num_rows()) + " rows of " +
         std::to_string(table.num_columns()) + " columns";
}

}  // namespace belfry
