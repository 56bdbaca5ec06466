// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace belfry::detail {

/// The points of other streams that the later work of a stream follows: a part of the Stream.
/// May be used by several threads.
class StreamOrder {
 public:
  /// Counts the beginnings and the ends of the records of points. No other stream ever has the
  /// clock of a stream.
  using Clock = std::atomic<std::uint64_t>;
  /// A point of a stream, by the ticks around the record: a point that begins after another point
  /// has ended is later in the stream.
  struct Ticks {
    // Shared by the stream, its points, and the streams that follow the points.
    std::shared_ptr<Clock> clock{};
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  /// The clock of this stream. Throws: std::bad_alloc.
  std::shared_ptr<Clock> clock();
  /// Whether the later work follows the point, or a later point of the same stream, or the point is
  /// this stream's own.
  bool follows(const Ticks& point);
  /// The later work follows the point from now on. Throws: std::bad_alloc.
  void follow(const Ticks& point);

 private:
  std::mutex mutex_;
  std::shared_ptr<Clock> clock_;
  std::vector<Ticks> followed_;  // The latest point of each stream.
};

}  // namespace belfry::detail
