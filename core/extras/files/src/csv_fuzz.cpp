// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "belfry/files/csv.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace {

std::optional<belfry::CsvTable> parse(const std::string& text) {
  try {
    std::istringstream in(text);
    return belfry::parse_csv(in, "fuzz.csv");
  } catch (const belfry::Error& error) {
    if (error.code() != belfry::ErrorCode::kFileFormat) std::abort();
    return std::nullopt;
  }
}

// The table in quotes: every reader of the format reads the same table.
std::string written(const belfry::CsvTable& table) {
  std::string text;
  for (std::int64_t row = 0; row < table.num_rows(); ++row) {
    for (std::int64_t column = 0; column < table.num_columns(); ++column) {
      text += column == 0 ? "\"" : ",\"";
      for (const char c : table.text(row, column)) text.append(c == '"' ? 2 : 1, c);
      text += '"';
    }
    text += '\n';
  }
  return text;
}

bool same(const belfry::CsvTable& a, const belfry::CsvTable& b) {
  if (a.num_rows() != b.num_rows() || a.num_columns() != b.num_columns()) return false;
  for (std::int64_t row = 0; row < a.num_rows(); ++row) {
    for (std::int64_t column = 0; column < a.num_columns(); ++column) {
      if (a.text(row, column) != b.text(row, column)) return false;
    }
  }
  return true;
}

}  // namespace

// Any text is either refused, or a table that reads back equal after writing. Its numbers are
// refused or read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!table) return 0;
  const auto again = parse(written(*table));
  if (!again || !same(*table, *again)) std::abort();
  try {
    const belfry::HostArray numbers = table->numbers<float>();
    if (numbers.shape().count() != table->num_rows() * table->num_columns()) std::abort();
  } catch (const belfry::Error& error) {
    if (error.code() != belfry::ErrorCode::kFileFormat) std::abort();
  }
  return 0;
}
