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
  // The reads after the write, at most one of each stream. Most buffers have a single one: the
  // first takes no memory of its own.
  StreamPointPtr read;
  std::vector<StreamPointPtr> more_reads;
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
  std::vector<StreamPointPtr> points;
  if (known->read != nullptr) points.push_back(known->read);
  points.insert(points.end(), known->more_reads.begin(), known->more_reads.end());
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
  StreamPointPtr write;
  StreamPointPtr read;
  std::vector<StreamPointPtr> more_reads;
  {
    const std::lock_guard lock(known.mutex);
    write = known.write;
    read = known.read;
    more_reads = known.more_reads;
    if (write == nullptr && read == nullptr && more_reads.empty()) return;
  }
  if (read != nullptr) read->precede(stream);
  for (const StreamPointPtr& point : more_reads) point->precede(stream);
  if (write != nullptr) write->precede(stream);
  if (&stream != &own) return;
  const std::lock_guard lock(known.mutex);
  if (known.write == write) known.write = nullptr;
  if (known.read == read) known.read = nullptr;
  std::erase_if(known.more_reads, [&](const StreamPointPtr& point) {
    return std::ranges::find(more_reads, point) != more_reads.end();
  });
}

void PendingAccesses::add_read(StreamPointPtr point) {
  State& known = state();
  const std::lock_guard lock(known.mutex);
  if (known.read != nullptr && known.read->is_beside(*point)) {
    known.read = std::move(point);
    return;
  }
  const auto earlier = std::ranges::find_if(
      known.more_reads, [&](const StreamPointPtr& read) { return read->is_beside(*point); });
  if (earlier != known.more_reads.end()) {
    *earlier = std::move(point);
  } else if (known.read == nullptr) {
    known.read = std::move(point);
  } else {
    known.more_reads.push_back(std::move(point));
  }
}

void PendingAccesses::add_write(StreamPointPtr point) {
  State& known = state();
  const std::lock_guard lock(known.mutex);
  known.write = std::move(point);
  known.read = nullptr;
  known.more_reads.clear();
}

}  // namespace belfry::detail
