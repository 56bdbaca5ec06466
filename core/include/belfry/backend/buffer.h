// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace belfry {

class Device;

/// The origin of a buffer's bytes.
enum class MemoryOrigin : std::uint8_t {
  kDevice,           ///< Memory that the device has allocated.
  kForeign,          ///< Memory of the program's own: see `belfry/backend/foreign_memory.h`.
  kForeignReadOnly,  ///< The same, never written.
};

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
  /// on the simulator if buffers may share the bytes. Other code may compare addresses of foreign
  /// memory, and dereferences no address.
  void* address() const { return address_; }
  /// Whether the bytes are memory of the program's own. The bytes keep their place, and two buffers
  /// may have common bytes.
  bool is_foreign() const { return origin_ != MemoryOrigin::kDevice; }
  /// Whether the bytes may not be written.
  bool is_read_only() const { return origin_ == MemoryOrigin::kForeignReadOnly; }

 protected:
  /// `address` is as the function of the name says.
  Buffer(Device& device, void* address, std::size_t bytes,
         MemoryOrigin origin = MemoryOrigin::kDevice)
      : device_(&device), address_(address), bytes_(bytes), origin_(origin) {}

 private:
  Device* device_;
  void* address_;
  std::size_t bytes_;
  MemoryOrigin origin_;
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
