// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/access_check.h"
#include "engine/engine.h"

#include <cstddef>
#include <cstring>

namespace belfry::engine {
namespace {

Footprint footprint_of_read(const Access& access) {
  return {access.allocation->resource(), access.range.begin, access.range.end, AccessMode::kRead};
}

}  // namespace

void Engine::read(CommandQueue& queue, void* to, const Access& from, CallSite site) {
  Lock lock(door_);
  clear_told();
  site = site_or_submitting(site);
  const std::byte* data = await_bytes(lock, queue, from, site);
  const std::size_t bytes = from.range.end - from.range.begin;
  if (bytes != 0) std::memcpy(to, data, bytes);
  note_read(from, site);
}

const std::byte* Engine::view(CommandQueue& queue, const Access& from, CallSite site) {
  Lock lock(door_);
  clear_told();
  site = site_or_submitting(site);
  const std::byte* const data = await_bytes(lock, queue, from, site);
  note_read(from, site);
  return data;
}

// No work knows the allocation: the host writes the bytes before the next call.
std::byte* Engine::fill(const Access& access) {
  const Lock lock(door_);
  access.allocation->make_own();
  access.allocation->written().insert(access.range);
  return access.allocation->data() + access.range.begin;
}

std::byte* Engine::lend(CommandQueue& queue, const Access& access, CallSite site) {
  Lock lock(door_);
  clear_told();
  site = site_or_submitting(site);
  await_bytes(lock, queue, access, site);
  access.allocation->make_own();
  note_read(access, site);
  return access.allocation->data() + access.range.begin;
}

// The address of bytes that the host may read. A read of bytes without contents is a read, too: a
// write without an order may give the bytes contents in a different schedule.
std::byte* Engine::await_bytes(Lock& lock, CommandQueue& queue, const Access& access,
                               CallSite site) {
  // The wait lets further replicas call the backend.
  const void* const code = options_.watch != nullptr ? options_.watch->code() : nullptr;
  await_queue(lock, queue, site);
  if (options_.watch != nullptr) options_.watch->called_by(code);
  try {
    check_access(access, options_.check_initialised, "a read by the host", site);
  } catch (...) {
    if (options_.watch != nullptr) saw_read(footprint_of_read(access), site, true);
    throw;
  }
  if (access.allocation->data() == nullptr) access.allocation->make_own();
  return access.allocation->data() + access.range.begin;
}

void Engine::note_read(const Access& access, CallSite site) {
  const ByteRange range = access.range;
  const Footprint footprint = footprint_of_read(access);
  if (options_.watch != nullptr) saw_read(footprint, site, false);
  if (options_.sink == nullptr) return;
  Operation operation;
  operation.kind = OperationKind::kHostRead;
  const std::size_t bytes = range.end - range.begin;
  operation.subject = bytes;
  operation.value = digest(0, access.allocation->data() + range.begin, bytes, options_.digest);
  operation.footprints = {&footprint, 1};
  operation.site = site;
  note(operation);
}

}  // namespace belfry::engine
