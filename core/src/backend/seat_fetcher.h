// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/turns.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::detail {

/// Prefetches the memory of replicas whose turns come next. Each turn of a run with many replicas
/// needs a stack that has left the caches.
class SeatFetcher {
 public:
  /// Begins to load the memory of some later turns, in three steps: the pointer to a seat, then the
  /// seat, then the frames that wait on its stack, each step after the one before has arrived.
  /// Seats are fetched in batches: each lies on a page of its own, and the processor waits for the
  /// address of a page, but for several at once. Inlined: GCC takes a function that only prefetches
  /// for one without effect, and drops the call.
  template <class Carriage>
  [[gnu::always_inline]] void fetch(const Turns& turns, const Carriage& carriage,
                                    const std::vector<typename Carriage::Seat*>& seats) {
    const int near = turns.ahead(kFrames);
    if (near >= 0) carriage.fetch_frames(seats[static_cast<std::size_t>(near)]);
    if (turn_++ % kBatch != 0) return;
    for (std::size_t k = 0; k < kBatch; ++k) {
      const int middle = turns.ahead(kSeats + k);
      const int far = turns.ahead(kPointers + k);
      if (middle >= 0) carriage.fetch(seats[static_cast<std::size_t>(middle)]);
      if (far >= 0) __builtin_prefetch(static_cast<const void*>(seats.data() + far));
    }
  }

 private:
  // Turns between a fetch and its use.
  static constexpr std::size_t kFrames = 4;
  static constexpr std::size_t kSeats = 8;
  static constexpr std::size_t kPointers = 12;
  static constexpr std::size_t kBatch = 4;

  std::uint32_t turn_ = 0;
};

}  // namespace belfry::detail
