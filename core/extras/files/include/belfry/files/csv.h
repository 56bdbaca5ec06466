// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"
#include "belfry/files/host_array.h"

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

/// The format of a file of separated values.
struct CsvOptions {
  char separator = ',';     ///< Stands between two fields.
  bool has_header = false;  ///< The first line has the names of the columns.
  /// The number of lines to leave out at the start of the file, before the header or the first row.
  /// These lines may have any contents.
  std::int64_t skip_lines = 0;
  /// The number for an empty field, of nothing or of blanks. Without a value, an empty field among
  /// numbers is an error.
  std::optional<double> missing{};
};

/// The options as an initializer that compiles, without members of their usual value:
/// `{.separator = ';', .has_header = true}`.
std::string to_string(const CsvOptions& options);

namespace detail {

/// The position of a field: in the text of its table, and in its file.
struct CsvField {
  std::size_t begin;
  std::size_t size;
  std::int64_t line;  ///< Lines and columns count from 1.
  std::int64_t column;
};

}  // namespace detail

/// Lines of fields, separated by commas unless CsvOptions has another separator; all lines have
/// equally many fields. A field in double quotes may hold separators, line ends, and quotes written
/// twice. Lines end with LF, CR LF or CR; the last line end is optional. Blank lines at the end are
/// left out, except in a table of a single column, in which a blank line is an empty field. Blanks
/// belong to fields. A number may have blanks (spaces and tabulators) at both ends.
class CsvTable {
 public:
  /// The name of the file, or of the stream.
  const std::string& name() const { return name_; }
  std::int64_t num_rows() const { return num_rows_; }  ///< Lines, without the header.
  /// Fields of each line.
  std::int64_t num_columns() const { return static_cast<std::int64_t>(header_.size()); }
  /// The names of the columns; empty strings without a header.
  const std::vector<std::string>& header() const { return header_; }
  /// The number of the column with this name, from 0.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a missing name, and for a name of several
  /// columns.
  std::int64_t column(std::string_view name, CallSite site = CallSite::here()) const;

  /// A field without its quotes; rows and columns are numbered from 0.
  /// Throws: InvalidArgumentError (kOutOfBounds) for a missing row or column.
  std::string_view text(std::int64_t row, std::int64_t column,
                        CallSite site = CallSite::here()) const;
  /// The numbers of columns `begin` to before `end`, as an array [num_rows(), end - begin]. A
  /// number may have a sign, `+` or `-`. Booleans are 0, 1, false or true.
  /// Throws:
  /// - InvalidArgumentError (kFileFormat) with the place of the first field without a number of
  ///   type T, or of the first empty field if CsvOptions::missing has no value;
  /// - InvalidArgumentError (kOutOfBounds) for missing columns;
  /// - InvalidArgumentError (kInvalidArgument) if CsvOptions::missing is no number of type T.
  template <Element T>
  HostArray numbers(std::int64_t begin, std::int64_t end, CallSite site = CallSite::here()) const {
    return parse_numbers(dtype_of<T>(), range(begin, end, site), site);
  }
  template <Element T>
  HostArray numbers(CallSite site = CallSite::here()) const {
    return numbers<T>(0, num_columns(), site);
  }
  /// The numbers of a column, as an array [num_rows()].
  /// Throws: as numbers, and as column.
  template <Element T>
  HostArray numbers_of(std::int64_t column, CallSite site = CallSite::here()) const {
    const HostArray array = numbers<T>(column, column + 1, site);
    return HostArray(array.dtype(), Shape{num_rows_}, {array.bytes().begin(), array.bytes().end()})
        .from_file(name_);
  }
  template <Element T>
  HostArray numbers_of(std::string_view name, CallSite site = CallSite::here()) const {
    return numbers_of<T>(column(name, site), site);
  }
  /// The numbers of the columns with these names, in the order of `names`, as an array [num_rows(),
  /// names.size()].
  /// Throws: as numbers, and as column; InvalidArgumentError (kInvalidArgument) for a name twice in
  /// `names`, and for no names.
  template <Element T>
  HostArray columns(const std::vector<std::string>& names, CallSite site = CallSite::here()) const {
    return parse_numbers(dtype_of<T>(), named(names, site), site);
  }

 private:
  friend CsvTable parse_csv(std::istream& in, const std::string& name, CsvOptions options,
                            CallSite site);
  // The columns from `begin` to before `end`. Throws: InvalidArgumentError (kOutOfBounds).
  std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end, CallSite site) const;
  std::vector<std::int64_t> named(const std::vector<std::string>& names, CallSite site) const;
  HostArray parse_numbers(DType dtype, std::span<const std::int64_t> columns, CallSite site) const;
  [[noreturn]] void throw_no_number(std::int64_t row, std::int64_t column, DType dtype,
                                    bool is_out_of_range, CallSite site) const;
  const detail::CsvField& field(std::int64_t row, std::int64_t column) const {
    return fields_[static_cast<std::size_t>(row * num_columns() + column)];
  }

  std::string name_;
  std::string text_;
  std::vector<std::string> header_;
  std::vector<detail::CsvField> fields_;
  std::int64_t num_rows_ = 0;
  std::optional<double> missing_;
};

/// `people.csv: 2 rows of 3 columns`.
std::string to_string(const CsvTable& table);

/// Reads a file of separated values:
///
///     const CsvTable people = read_csv("people.csv", {.has_header = true});
///     const Dataset<double> ages = people.numbers_of<double>("age").elements<double>();
///
/// Throws:
/// - InvalidArgumentError (kFileFormat) with the file, the line and the column (in bytes) of the
///   fault, or with the reason for a file that cannot be read;
/// - InvalidArgumentError (kInvalidArgument) for a quote or a line end as the separator, and for a
///   negative number of lines to skip.
CsvTable read_csv(const std::string& path, CsvOptions options = {},
                  CallSite site = CallSite::here());
/// read_csv for a stream; `name` stands for the file in messages.
CsvTable parse_csv(std::istream& in, const std::string& name, CsvOptions options = {},
                   CallSite site = CallSite::here());

}  // namespace belfry
