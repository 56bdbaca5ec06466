// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::detail {

/// The contents of the header of an npy file.
struct NpyHeader {
  DType dtype = DType::kFloat32;
  bool is_fortran = false;
  std::vector<std::int64_t> extents;
  std::size_t bytes = 0;  ///< Of all elements.
};

/// The place of a header, for messages.
struct NpyPlace {
  const std::string& file;
  std::size_t begin;  ///< Its first byte in the file.
  CallSite site;
};

/// The hint for files of no form of numpy.save.
inline constexpr const char* kBrokenNpy =
    "the file was cut off or edited, or is no npy file: write it again with numpy.save";

/// Throws: InvalidArgumentError (kFileFormat); `position` counts from the first byte of the place.
[[noreturn]] void throw_bad_npy(const NpyPlace& place, std::size_t position,
                                const std::string& what, const char* hint = kBrokenNpy);

/// Throws: InvalidArgumentError (kFileFormat).
NpyHeader parse_npy_header(std::string_view text, const NpyPlace& place);

}  // namespace belfry::detail
