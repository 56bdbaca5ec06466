// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/allocation.h"

#include "belfry/backend/current_slot.h"
#include "engine/device_memory.h"
#include "engine/queue_history.h"

#include <cstring>
#include <iterator>
#include <utility>

namespace belfry::engine {
namespace {

// With ThreadSanitizer, bytes shared by several allocations are never written again: bodies with
// reads of a copy have no order with bodies with writes to the last copy.
bool may_write(const std::shared_ptr<Storage>& storage) {
  if (storage->is_fixed()) return true;
  return storage.use_count() == 1 && !(kTsan && storage->has_been_shared());
}

bool has_ended(const ForeignOwners::Entry& entry) {
  if (!entry.ended->has_come.load(std::memory_order_acquire)) return false;
  QueueHistory::acquire(&entry.ended->edge);
  return true;
}

}  // namespace

void ForeignOwners::part_with(std::list<Entry>& entry) noexcept {
  // The end of an owner may call belfry, and a body may not.
  if (!detail::is_in_kernel() && has_ended(entry.front())) return entry.clear();
  const std::lock_guard lock(mutex_);
  waiting_.splice(waiting_.end(), entry);
  count_.store(waiting_.size(), std::memory_order_relaxed);
}

// Owners end outside the lock: their ends may end more handles.
void ForeignOwners::release_ended() noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  std::list<Entry> ended;  // Destroyed after the lock.
  const std::lock_guard lock(mutex_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto entry = at++;
    if (has_ended(*entry)) ended.splice(ended.end(), waiting_, entry);
  }
  count_.store(waiting_.size(), std::memory_order_relaxed);
}

Storage::Storage(std::shared_ptr<DeviceMemory> memory, std::size_t bytes)
    : memory_(std::move(memory)), bytes_(bytes), block_(memory_->take(bytes)) {}

Storage::Storage(std::byte* foreign, ForeignOwners::Ended ended)
    : block_{foreign, 0, nullptr}, ended_(std::move(ended)) {
  ended_->has_come.store(false, std::memory_order_relaxed);
}

Storage::~Storage() {
  if (memory_ != nullptr) {
    memory_->release(block_, bytes_);
  } else {
    ended_->has_come.store(true, std::memory_order_release);
  }
}

Allocation::Allocation(std::shared_ptr<DeviceMemory> memory, std::size_t bytes,
                       std::uint64_t number)
    : memory_(std::move(memory)), bytes_(bytes), device_(memory_->device()), number_(number) {
  if (!memory_->shares() || bytes == 0) storage_ = std::make_shared<Storage>(memory_, bytes);
}

Allocation::Allocation(std::shared_ptr<DeviceMemory> memory, std::size_t bytes,
                       std::uint64_t number, std::shared_ptr<Storage> foreign)
    : memory_(std::move(memory)),
      storage_(std::move(foreign)),
      bytes_(bytes),
      device_(memory_->device()),
      number_(number) {
  written_.insert({0, bytes});
}

Allocation::~Allocation() { retire(); }

void Allocation::make_own() {
  if (storage_ != nullptr && may_write(storage_)) return;
  auto own = std::make_shared<Storage>(memory_, bytes_);
  // A command that fails halfway may leave some bytes unchanged.
  if (storage_ != nullptr) {
    for (const ByteRange& range : written_.ranges()) {
      std::memcpy(own->data() + range.begin, storage_->data() + range.begin,
                  range.end - range.begin);
    }
  }
  storage_ = std::move(own);
}

bool Allocation::share(const Allocation& source) {
  if (!memory_->shares() || !source.memory_->shares() || source.storage_ == nullptr) return false;
  if (source.storage_->is_fixed() || (storage_ != nullptr && storage_->is_fixed())) return false;
  storage_ = source.storage_;
  storage_->note_sharing();
  return true;
}

std::uint64_t Allocation::resource() const {
  const auto place = static_cast<std::uint64_t>(device_ < 0 ? 0 : device_ + 1);
  return place << 40 | number_;
}

std::string Allocation::describe() const {
  const std::string place = device_ < 0 ? "the host" : "device " + std::to_string(device_);
  return "buffer " + std::to_string(number_) + " of " + place + " (" + std::to_string(bytes_) +
         " bytes)";
}

void Allocation::retire() {
  if (!retired_.exchange(true)) memory_->retire(*this);
}

}  // namespace belfry::engine
