// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host/host_buffer.h"

#include "belfry/backend/unwatched.h"
#include "belfry/error.h"

#include <algorithm>
#include <new>
#include <utility>

namespace belfry::host {
namespace {

constexpr std::align_val_t kAlignment{64};

// Null for a buffer of another backend.
LostBytes* lost_bytes(const BufferView& view) {
  auto* const own = dynamic_cast<HostBuffer*>(view.buffer.get());
  return own == nullptr ? nullptr : &own->lost();
}

}  // namespace

HostBuffer::HostBuffer(Device& device, std::size_t bytes, std::shared_ptr<HostMeter> meter)
    : Buffer(device, ::operator new(std::max<std::size_t>(bytes, 1), kAlignment), bytes),
      meter_(std::move(meter)) {
  const detail::Unwatched unwatched;
  meter_->use.live_bytes += bytes;
  meter_->use.live_buffers += 1;
  meter_->use.peak_bytes = std::max(meter_->use.peak_bytes, meter_->use.live_bytes);
}

HostBuffer::HostBuffer(Device& device, ForeignMemory memory)
    : Buffer(device, memory.address, memory.bytes, memory.origin()),
      owner_(std::move(memory.owner)) {}

HostBuffer::~HostBuffer() {
  if (meter_ == nullptr) return;
  const detail::Unwatched unwatched;
  meter_->use.live_bytes -= bytes();
  meter_->use.live_buffers -= 1;
  ::operator delete(address(), kAlignment);
}

std::byte* address_of(const BufferView& view) {
  if (view.buffer == nullptr || view.offset > view.buffer->bytes() ||
      view.bytes() > view.buffer->bytes() - view.offset) {
    throw InvalidArgumentError(ErrorCode::kOutOfBounds, "a view reaches beyond its buffer");
  }
  return static_cast<std::byte*>(view.buffer->address()) + view.offset;
}

std::exception_ptr reason_of_loss(const BufferView& view) {
  if (!has_loss(view)) return nullptr;
  return static_cast<HostBuffer&>(*view.buffer)
      .lost()
      .reason(view.offset, view.offset + view.bytes());
}

void lose(const BufferView& view, const std::exception_ptr& reason,
          LostBytes::Room& room) noexcept {
  LostBytes* const lost = lost_bytes(view);
  if (lost != nullptr) lost->lose(view.offset, view.offset + view.bytes(), reason, room);
}

void restore(const BufferView& view) {
  LostBytes* const lost = lost_bytes(view);
  if (lost != nullptr) lost->restore(view.offset, view.offset + view.bytes());
}

}  // namespace belfry::host
