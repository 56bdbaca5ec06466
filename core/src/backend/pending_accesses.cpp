// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/pending_accesses.h"

#include "belfry/detail/stream_point.h"

#include <algorithm>
#include <mutex>
#include <utility>

// Work of the own stream that has waited for an access makes the access known to all streams: a
// stream uses a buffer of another stream only after the present work of that stream.
namespace belfry::detail {

struct PendingAccesses::State {
  mutable std::mutex mutex;
  StreamPointPtr write;
  std::vector<StreamPointPtr> reads;  // After the write; at most one of each stream.
};

void PendingAccesses::destroy() noexcept { delete state_.load(std::memory_order_acquire); }

PendingAccesses::State& PendingAccesses::state() {
  State* known = state_.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto fresh = std::make_unique<State>();
  if (state_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) {
    return *fresh.release();
  }
  return *known;
}

StreamPointPtr PendingAccesses::write() const {
  const State* const known = state_.load(std::memory_order_acquire);
  if (known == nullptr) return nullptr;
  const std::lock_guard lock(known->mutex);
  return known->write;
}

std::vector<StreamPointPtr> PendingAccesses::all() const {
  const State* const known = state_.load(std::memory_order_acquire);
  if (known == nullptr) return {};
  const std::lock_guard lock(known->mutex);
  std::vector<StreamPointPtr> points = known->reads;
  if (known->write != nullptr) points.push_back(known->write);
  return points;
}

void PendingAccesses::precede_read(Stream& stream, const Stream& own) {
  const StreamPointPtr point = write();
  if (point == nullptr) return;
  point->precede(stream);
  if (&stream != &own) return;
  State& known = state();
  const std::lock_guard lock(known.mutex);
  if (known.write == point) known.write = nullptr;
}

void PendingAccesses::precede_write(Stream& stream, const Stream& own) {
  if (empty()) return;
  State& known = state();
  std::vector<StreamPointPtr> reads;
  {
    const std::lock_guard lock(known.mutex);
    reads = known.reads;
  }
  for (const StreamPointPtr& point : reads) point->precede(stream);
  precede_read(stream, own);
  if (&stream != &own || reads.empty()) return;
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.reads, [&](const StreamPointPtr& point) {
    return std::ranges::find(reads, point) != reads.end();
  });
}

void PendingAccesses::add_read(StreamPointPtr point) {
  State& known = state();
  const std::lock_guard lock(known.mutex);
  const auto earlier = std::ranges::find_if(
      known.reads, [&](const StreamPointPtr& read) { return read->is_beside(*point); });
  if (earlier == known.reads.end()) {
    known.reads.push_back(std::move(point));
  } else {
    *earlier = std::move(point);
  }
}

void PendingAccesses::add_write(StreamPointPtr point) {
  State& known = state();
  const std::lock_guard lock(known.mutex);
  known.write = std::move(point);
  known.reads.clear();
}

}  // namespace belfry::detail
