// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <atomic>
#include <memory>
#include <vector>

namespace belfry {
class Stream;
}

namespace belfry::detail {

class StreamPoint;
using StreamPointPtr = std::shared_ptr<const StreamPoint>;

/// The accesses of other streams that the own stream of a buffer, the compute stream of its device,
/// need not follow so far: a part of the Buffer. May be used by several threads.
class PendingAccesses {
 public:
  PendingAccesses() = default;
  PendingAccesses(const PendingAccesses&) = delete;
  PendingAccesses& operator=(const PendingAccesses&) = delete;
  ~PendingAccesses() {
    if (!empty()) destroy();
  }

  /// Whether no other stream has ever left an access.
  bool empty() const { return state_.load(std::memory_order_acquire) == nullptr; }
  /// Later work of `stream` starts after the pending write.
  /// Order: at most one wait is enqueued. Throws: as StreamPoint::precede.
  void precede_read(Stream& stream, const Stream& own);
  /// Later work of `stream` starts after all pending accesses.
  /// Order: at most one wait for each other stream is enqueued. Throws: as StreamPoint::precede.
  void precede_write(Stream& stream, const Stream& own);
  /// A read that ends at `point`. Throws: std::bad_alloc.
  void add_read(StreamPointPtr point);
  /// A write that ends at `point`, and follows all accesses so far. Throws: std::bad_alloc.
  void add_write(StreamPointPtr point);
  /// The ends of all pending accesses. Throws: std::bad_alloc.
  std::vector<StreamPointPtr> all() const;

 private:
  struct State;

  State& state();
  StreamPointPtr write() const;  // Null without one.
  void destroy() noexcept;

  std::atomic<State*> state_{nullptr};  // Made by the first access.
};

}  // namespace belfry::detail
