// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include "belfry/backend/current_slot.h"
#include "belfry/error.h"
#include "buffer.h"
#include "stream_numbers.h"

#include <utility>

namespace belfry::sim {

DeviceSpec simulated_device(int index, int devices) {
  DeviceSpec spec;
  if (index == devices) return spec;
  spec.type = "SIM";
  spec.index = index;
  return spec;
}

SimDevice::SimDevice(int index, Shared& shared)
    : index_(index),
      shared_(shared),
      memory_(
          engine::DeviceMemory::create({.device = number(),
                                        .limit_bytes = is_host() ? 0 : shared.memory_limit_bytes,
                                        .poison = false,
                                        .share_copies = shared.share_copies,
                                        .addresses = nullptr})),
      compute_(*this, shared, next_stream()),
      communication_(*this, shared, next_stream()) {}

BufferPtr SimDevice::allocate(std::size_t bytes, Stream& stream) {
  stream_of(stream, *shared_.engine);
  engine::AllocationPtr allocation;
  try {
    allocation = memory_->allocate(bytes, {});
  } catch (const DeviceError&) {
    // Work in flight may hold memory that its owner has given back already.
    shared_.engine->drain();
    allocation = memory_->allocate(bytes, detail::submitting_site());
  }
  if (shared_.sink != nullptr) {
    Operation operation;
    operation.kind = OperationKind::kAllocate;
    operation.subject = allocation->number();
    operation.value = bytes;
    shared_.engine->tell(operation);
  }
  shared_.engine->made(*allocation);
  return std::make_shared<SimBuffer>(*this, std::move(allocation), shared_.engine);
}

// No operation of the log: the device allocates nothing.
BufferPtr SimDevice::adopt(ForeignMemory memory, Stream& stream) {
  stream_of(stream, *shared_.engine);
  shared_.owners->release_ended();
  // The progress of devices decides when an owner ends, which is code of the program.
  const bool may_watch = memory.owner == nullptr;
  auto owner = std::make_unique<engine::ForeignOwner>(shared_.owners, std::move(memory.owner));
  engine::AllocationPtr allocation =
      memory_->adopt(static_cast<std::byte*>(memory.address), memory.bytes, owner->ended());
  shared_.engine->made(*allocation);
  shared_.engine->exchanged(*allocation, may_watch);
  return std::make_shared<SimBuffer>(*this, std::move(allocation), shared_.engine, memory.origin(),
                                     std::move(owner));
}

void* SimDevice::lend(const BufferView& view, std::optional<std::int64_t>) {
  const engine::Access access = access_of(view, *shared_.engine, "lend");
  shared_.engine->exchanged(*access.allocation, false);
  return shared_.engine->lend(compute_.queue(), access);
}

const std::byte* SimDevice::read_in_place(const BufferView& view) {
  if (view.count == 0) return nullptr;
  return shared_.engine->view(compute_.queue(), access_of(view, *shared_.engine, "read"));
}

std::byte* SimDevice::fill_in_place(const BufferView& view) {
  return shared_.engine->fill(access_of(view, *shared_.engine, "fill"));
}

bool SimDevice::is_used_by_others(const BufferView& view) {
  const auto* const buffer = exact_cast<const SimBuffer>(view.buffer.get());
  return buffer != nullptr && buffer->use().is_of_others();
}

void SimDevice::copies_for_write(const BufferView& view) {
  shared_.engine->copies_for_write(compute_.queue(), access_of(view, *shared_.engine, "copy"));
}

std::unique_ptr<Stream> SimDevice::create_stream() {
  return std::make_unique<SimStream>(*this, shared_, next_stream());
}

std::unique_ptr<Event> SimDevice::create_event() {
  return std::make_unique<SimEvent>(shared_.engine, shared_.owners);
}

engine::QueueOptions SimDevice::next_stream() {
  const std::int32_t own = streams_++;
  // No numbers are set aside for the host: streams of programs without the host keep their numbers.
  const bool is_far = is_host() || own >= kStreamsOfDevice;
  const std::int32_t stream = is_far ? shared_.devices * kStreamsOfDevice + shared_.far_streams++
                                     : index_ * kStreamsOfDevice + own;
  const std::string place = is_host() ? "host" : "device " + std::to_string(index_);
  return {.device = number(), .number = stream, .label = stream_name(place, own)};
}

// Every launch asks for its device.
SimDevice& DeviceTable::at(int index, Shared& shared) {
  detail::require_no_kernel();
  const auto place = static_cast<std::size_t>(index);
  const Chunk* const chunk = known_[place / kChunk].load(std::memory_order_acquire);
  if (chunk == nullptr) return make(index, shared);
  SimDevice* const device = chunk->known[place % kChunk].load(std::memory_order_acquire);
  return device == nullptr ? make(index, shared) : *device;
}

SimDevice& DeviceTable::make(int index, Shared& shared) {
  const auto place = static_cast<std::size_t>(index);
  const std::lock_guard lock(mutex_);
  auto& chunk = chunks_[place / kChunk];
  if (chunk == nullptr) chunk = std::make_unique<Chunk>();
  auto& device = chunk->devices[place % kChunk];
  if (device == nullptr) device = std::make_unique<SimDevice>(index, shared);
  chunk->known[place % kChunk].store(device.get(), std::memory_order_release);
  known_[place / kChunk].store(chunk.get(), std::memory_order_release);
  return *device;
}

}  // namespace belfry::sim
