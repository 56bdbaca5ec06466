// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dtype.h"
#include "belfry/files/host_array.h"

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

/// The format of a file of separated values.
struct CsvOptions {
  char separator = ',';     ///< Stands between two fields.
  bool has_header = false;  ///< The first line has the names of the columns.
};

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
/// twice. Lines end with LF or CR LF; the last line end is optional. Blanks belong to fields.
class CsvTable {
 public:
  std::int64_t num_rows() const { return num_rows_; }  ///< Lines, without the header.
  /// Fields of each line.
  std::int64_t num_columns() const { return static_cast<std::int64_t>(header_.size()); }
  /// The names of the columns; empty strings without a header.
  const std::vector<std::string>& header() const { return header_; }
  /// The number of the column with this name, from 0. Throws: InvalidArgumentError
  /// (kInvalidArgument) for a missing name.
  std::int64_t column(std::string_view name, CallSite site = CallSite::here()) const;

  /// A field without its quotes; rows and columns are numbered from 0. Throws: InvalidArgumentError
  /// (kOutOfBounds) for a missing row or column.
  std::string_view text(std::int64_t row, std::int64_t column,
                        CallSite site = CallSite::here()) const;
  /// The numbers of columns `begin` to before `end`, as an array [num_rows(), end - begin].
  /// Booleans are 0, 1, false or true.
  /// Throws: InvalidArgumentError (kFileFormat) with the line and the column of the first field
  /// that is no number of this type; (kOutOfBounds) for missing columns.
  template <Element T>
  HostArray numbers(std::int64_t begin, std::int64_t end, CallSite site = CallSite::here()) const {
    return parse_numbers(dtype_of<T>(), begin, end, site);
  }
  template <Element T>
  HostArray numbers(CallSite site = CallSite::here()) const {
    return parse_numbers(dtype_of<T>(), 0, num_columns(), site);
  }
  /// The numbers of a column, as an array [num_rows()]. Throws: as numbers.
  template <Element T>
  HostArray numbers_of(std::int64_t column, CallSite site = CallSite::here()) const {
    const HostArray array = parse_numbers(dtype_of<T>(), column, column + 1, site);
    return {array.dtype(), Shape{num_rows_}, {array.bytes().begin(), array.bytes().end()}};
  }

 private:
  friend CsvTable parse_csv(std::istream& in, const std::string& name, CsvOptions options,
                            CallSite site);
  HostArray parse_numbers(DType dtype, std::int64_t begin, std::int64_t end, CallSite site) const;
  const detail::CsvField& field(std::int64_t row, std::int64_t column) const {
    return fields_[static_cast<std::size_t>(row * num_columns() + column)];
  }

  std::string name_;
  std::string text_;
  std::vector<std::string> header_;
  std::vector<detail::CsvField> fields_;
  std::int64_t num_rows_ = 0;
};

/// Reads a file. Throws: InvalidArgumentError (kFileFormat) with the file, the line and the column
/// (in bytes) of the fault, or with the reason for a file that cannot be read; (kInvalidArgument)
/// for a quote or a line end as the separator.
CsvTable read_csv(const std::string& path, CsvOptions options = {},
                  CallSite site = CallSite::here());
/// read_csv for a stream; `name` stands for the file in messages.
CsvTable parse_csv(std::istream& in, const std::string& name, CsvOptions options = {},
                   CallSite site = CallSite::here());

}  // namespace belfry
