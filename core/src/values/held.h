// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <typeinfo>
#include <utility>

namespace belfry::detail {

/// The elements of a tensor of another process, in memory of the host: a reduction reads them
/// there. No work of a stream takes such a buffer.
class HeldElements final : public Buffer {
 public:
  /// A copy of `elements`. Throws: std::bad_alloc.
  HeldElements(Device& device, const std::byte* elements, std::size_t bytes)
      : HeldElements(device, std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes) {
    if (bytes != 0) std::memcpy(memory_.get(), elements, bytes);
  }

  const std::byte* elements() const { return memory_.get(); }

 private:
  HeldElements(Device& device, std::unique_ptr<std::byte[]> memory, std::size_t bytes)
      : Buffer(device, memory.get(), bytes), memory_(std::move(memory)) {}

  std::unique_ptr<std::byte[]> memory_;
};

/// The held elements of `tensor`; null for every other tensor.
inline const HeldElements* held(const AnyTensor& tensor) {
  const Buffer* const buffer = tensor.view().buffer.get();
  const bool is_held = buffer != nullptr && typeid(*buffer) == typeid(HeldElements);
  return is_held ? static_cast<const HeldElements*>(buffer) : nullptr;
}

}  // namespace belfry::detail
