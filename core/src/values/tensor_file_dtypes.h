// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/shape.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace belfry {

/// The key of a header whose object is no array.
inline constexpr std::string_view kNotesName = "__metadata__";

/// An element type of the safetensors format: `F32`, `BF16`, ...
struct FileDType {
  std::string_view name;
  std::size_t bits;              ///< Of one element.
  std::optional<DType> dtype{};  ///< Empty for a type that belfry lacks.

  /// Whether an array of the shape takes `bytes` bytes. False for extents with a product above 64
  /// bits before a 0: other readers multiply in this order and refuse the overflow.
  bool fits(const Shape& shape, std::size_t bytes) const;
  /// The size in bytes for the alignment of an array in a file: a power of two.
  std::size_t alignment() const;
};

/// The element type with the given name, or null for a name outside the format.
const FileDType* file_dtype_named(std::string_view name);
/// The format's element type for a type of belfry; null for a number outside the enumeration.
const FileDType* file_dtype_of(DType dtype);

}  // namespace belfry
