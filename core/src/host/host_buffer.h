// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/device.h"
#include "host/lost_bytes.h"

#include <cstddef>
#include <exception>
#include <memory>
#include <typeinfo>

namespace belfry::host {

/// Live and peak bytes of a device. Outlives the device, like its buffers.
struct HostMeter {
  MemoryUse use{};
};

/// Memory of the host: of the device, or of the program. All work is done when a handle ends: the
/// end of the buffer releases the owner.
class HostBuffer final : public Buffer {
 public:
  /// Memory of the device. Throws: std::bad_alloc.
  HostBuffer(Device& device, std::size_t bytes, std::shared_ptr<HostMeter> meter);
  /// Memory of the program.
  HostBuffer(Device& device, ForeignMemory memory);
  ~HostBuffer() override;

  LostBytes& lost() { return lost_; }

 private:
  std::shared_ptr<HostMeter> meter_;   // Null for memory of the program. Shared with the device.
  std::shared_ptr<const void> owner_;  // Shared with the program.
  LostBytes lost_;
};

/// The host address of a view. Throws: InvalidArgumentError (kOutOfBounds).
std::byte* address_of(const BufferView& view);

/// Whether the buffer of `view` has bytes without a value.
inline bool has_loss(const BufferView& view) {
  Buffer* const buffer = view.buffer.get();
  // A comparison of types takes less time than a dynamic_cast.
  return buffer != nullptr && typeid(*buffer) == typeid(HostBuffer) &&
         !static_cast<HostBuffer*>(buffer)->lost().empty();
}
/// The exception of the work that was to write bytes of `view`, if some have no value; else null.
std::exception_ptr reason_of_loss(const BufferView& view);
/// Takes the value of the bytes of `view`, with a range of `room`.
void lose(const BufferView& view, const std::exception_ptr& reason, LostBytes::Room& room) noexcept;
/// Called before all bytes of `view` are written. Throws: std::bad_alloc.
void restore(const BufferView& view);

}  // namespace belfry::host
