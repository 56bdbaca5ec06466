// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "values/tensor_file_dtypes.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace belfry {
namespace {

// Belfry's types come first, in the order of DType.
constexpr FileDType kFileDTypes[] = {
    {"F32", 32, DType::kFloat32},
    {"F64", 64, DType::kFloat64},
    {"F16", 16, DType::kFloat16},
    {"BF16", 16, DType::kBFloat16},
    {"I8", 8, DType::kInt8},
    {"I32", 32, DType::kInt32},
    {"I64", 64, DType::kInt64},
    {"U8", 8, DType::kUInt8},
    {"BOOL", 8, DType::kBool},
    {"I16", 16, DType::kInt16},
    {"U16", 16, DType::kUInt16},
    {"U32", 32, DType::kUInt32},
    {"U64", 64, DType::kUInt64},
    {"F4", 4},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F8_E4M3", 8},
    {"F8_E5M2", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"C64", 64},
};

}  // namespace

bool FileDType::fits(const Shape& shape, std::size_t bytes) const {
  std::size_t count = 1;
  for (const std::int64_t signed_extent : shape.extents()) {
    const auto extent = static_cast<std::size_t>(signed_extent);
    if (extent != 0 && count > std::numeric_limits<std::size_t>::max() / extent) return false;
    count *= extent;
  }
  // A product of the count could overflow; eight bits for each byte of a file cannot.
  return bytes * 8 / bits == count && bytes * 8 % bits == 0;
}

std::size_t FileDType::alignment() const { return bits % 8 == 0 ? bits / 8 : 1; }

const FileDType* file_dtype_named(std::string_view name) {
  const auto* const found = std::ranges::find(kFileDTypes, name, &FileDType::name);
  return found == std::ranges::end(kFileDTypes) ? nullptr : found;
}

const FileDType* file_dtype_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kNumDTypes ? &kFileDTypes[index] : nullptr;
}

}  // namespace belfry
