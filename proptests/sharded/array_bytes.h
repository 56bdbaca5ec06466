// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/shape.h"
#include "belfry/tensor_file.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace belfry::testing {

using Integers = std::vector<std::int32_t>;

/// Different numbers for all elements.
inline Integers counted(const Shape& shape) {
  Integers elements(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<std::int32_t>(7 * i + 1);
  return elements;
}

/// The array of a file, read at once.
inline Integers array_in(const std::filesystem::path& path, const std::string& name,
                         const Shape& shape) {
  const FileTensor array = TensorFile::read(path).tensors.at(name);
  if (array.shape != shape || array.dtype != DType::kInt32) return {};
  Integers elements(array.bytes.size() / sizeof(std::int32_t));
  if (!elements.empty()) std::memcpy(elements.data(), array.bytes.data(), array.bytes.size());
  return elements;
}

}  // namespace belfry::testing
