// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/pending_accesses.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace belfry {

class Device;

/// The origin of a buffer's bytes.
enum class MemoryOrigin : std::uint8_t {
  kDevice,           ///< Memory that the device has allocated.
  kForeign,          ///< Memory of the program's own: see ForeignMemory.
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
  /// For belfry itself: the accesses that the compute stream of the device may have to follow.
  detail::PendingAccesses& pending_accesses() { return pending_; }

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
  detail::PendingAccesses pending_;
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

class Stream;

/// Memory of the program's own, for a buffer without a copy.
struct ForeignMemory {
  /// The first byte. For 0 bytes, null is allowed.
  void* address = nullptr;
  std::size_t bytes = 0;   ///< The size.
  bool read_only = false;  ///< Whether the bytes are never written.
  /// Keeps the bytes alive; null if the program does. Shared by the buffer and the work in flight.
  std::shared_ptr<const void> owner{};
  /// The stream of a GPU whose work up to now makes the contents; none: the contents are complete.
  std::optional<std::int64_t> producer_stream{};

  /// The origin of the buffer's bytes.
  MemoryOrigin origin() const {
    return read_only ? MemoryOrigin::kForeignReadOnly : MemoryOrigin::kForeign;
  }
};

/// The kind of a device's memory.
enum class MemoryKind : std::uint8_t {
  kHost,    ///< Of the host.
  kPinned,  ///< Of the host, and every GPU can use the memory.
  kGpu,     ///< Of a GPU.
};

/// The place of a device's memory for code outside of belfry.
struct MemoryPlace {
  MemoryKind kind = MemoryKind::kHost;  ///< The kind.
  int gpu = 0;                          ///< Of kGpu: the number that CUDA gives the GPU.
};

/// A second base of a Device that exchanges memory with code outside of belfry: `Tensor::over` and
/// DLPack. Both look for the base with a dynamic_cast; devices without the base refuse. Streams of
/// GPUs have the numbers of the Python array API: 1 for the legacy default stream, 2 for the
/// default stream of the thread, else the handle.
class ForeignMemoryDevice {
 public:
  ForeignMemoryDevice() = default;
  ForeignMemoryDevice(const ForeignMemoryDevice&) = delete;
  ForeignMemoryDevice& operator=(const ForeignMemoryDevice&) = delete;
  virtual ~ForeignMemoryDevice() = default;

  /// A buffer over `memory`, whose bytes count as written before all work enqueued from now on, and
  /// as no allocation of the device. References of commands in flight are no references to the
  /// buffer: the number of references never depends on how far the device is. The owner is released
  /// on a thread of the host, outside of all locks, after the work with the buffer is done.
  /// Order: the host does not block.
  /// Throws: InvalidArgumentError (kForeignObject) for memory that the device cannot use;
  /// std::bad_alloc.
  virtual BufferPtr adopt(ForeignMemory memory, Stream& stream) = 0;
  /// The place of this device's memory.
  virtual MemoryPlace memory_place() const = 0;
  /// The address of a view's elements, for code outside of belfry. The caller has the only
  /// reference to the buffer, and uses no work of belfry with the buffer from now on.
  /// Order: the stream `consumer_stream` of a GPU waits for the work of the compute stream; without
  /// a number no stream waits. For memory of the host the host blocks until the work of the compute
  /// stream is done.
  /// Throws: InvalidArgumentError; DeviceError, also for failed work.
  virtual void* lend(const BufferView& view, std::optional<std::int64_t> consumer_stream) = 0;
};

}  // namespace belfry
