// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <cstddef>
#include <memory>

namespace belfry {

class Device;

/// An allocation on a device. Freed when the last view, tensor or command in flight releases the
/// buffer, in the order of the stream of the allocation.
class Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  virtual ~Buffer() = default;

  Device& device() const { return *device_; }   ///< The device of the memory.
  std::size_t bytes() const { return bytes_; }  ///< The size.
  /// The address of the bytes, for the backend that made the buffer: a device address on CUDA; null
  /// on the simulator, whose buffers may share bytes. No other code may dereference or compare the
  /// address.
  void* address() const { return address_; }

 protected:
  /// `address` is as the function of the name says.
  Buffer(Device& device, void* address, std::size_t bytes)
      : device_(&device), address_(address), bytes_(bytes) {}

 private:
  Device* device_;
  void* address_;
  std::size_t bytes_;
};

// Shared by tensors, views and commands in flight.
/// A shared buffer.
using BufferPtr = std::shared_ptr<Buffer>;

/// A typed range of a buffer. The range may be empty, but the buffer must not be null even then.
struct BufferView {
  BufferPtr buffer;        ///< The memory; not null.
  std::size_t offset = 0;  ///< Bytes from the buffer's start; a multiple of the element size.
  std::size_t count = 0;   ///< Elements.
  DType dtype = DType::kFloat32;  ///< The element type.

  std::size_t bytes() const { return count * size_of(dtype); }  ///< The size of the range.
};

/// The whole of `buffer` as elements of `dtype`.
inline BufferView view_of(BufferPtr buffer, DType dtype) {
  const std::size_t count = buffer->bytes() / size_of(dtype);
  return {std::move(buffer), 0, count, dtype};
}

}  // namespace belfry
