// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/shape.h"
#include "values/tensor_file_dtypes.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace belfry {

/// The bytes in front of the header. The bytes hold the length of the header.
inline constexpr std::size_t kLengthBytes = 8;
/// The limit of the format for the length of a header.
inline constexpr std::size_t kMostHeaderBytes = 100'000'000;

/// The name of a file and the call site of a read, for messages.
struct TensorFilePlace {
  const std::string& name;
  CallSite site;

  /// Throws: InvalidArgumentError (kFileFormat): the file does not make sense at byte `position`.
  [[noreturn]] void fail(
      std::size_t position, const std::string& what,
      const char* hint = "the file was cut off, edited, or is no safetensors file") const;
};

/// The description of an array in a header. Shape and span fit each other.
struct HeaderEntry {
  std::size_t position = 0;  ///< The byte of the file at the begin of the array's name.
  const FileDType* type = nullptr;
  Shape shape{};
  std::size_t begin = 0;  ///< The span in the bytes after the header.
  std::size_t end = 0;
};

/// The header of a safetensors file.
struct TensorHeader {
  std::map<std::string, HeaderEntry> entries{};
  std::map<std::string, std::string> notes{};
  std::size_t end = 0;  ///< The largest end of an array.
};

/// The length of the header, from the first bytes of a file. Throws: InvalidArgumentError
/// (kFileFormat).
std::size_t header_length(std::string_view contents, const TensorFilePlace& place);
/// Reads the header at the begin of `contents`, in time proportional to the length of the header
/// and to n log n for n arrays. Throws: InvalidArgumentError (kFileFormat).
TensorHeader parse_header(std::string_view contents, const TensorFilePlace& place);

}  // namespace belfry
