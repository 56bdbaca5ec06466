// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/dtype.h"

namespace belfry {

std::string to_string(DType dtype) {
  constexpr const char* names[kNumDTypes] = {"float32", "float64", "float16", "bfloat16", "int8",
                                             "int32",   "int64",   "uint8",   "bool",     "int16",
                                             "uint16",  "uint32",  "uint64"};
  const auto index = static_cast<unsigned>(dtype);
  return index < kNumDTypes ? names[index] : "dtype(" + std::to_string(index) + ")";
}

}  // namespace belfry
