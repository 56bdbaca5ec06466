// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"

#include <atomic>
#include <cstdint>

namespace belfry::sim {

/// The replicas that have used a buffer in the present phase. A replica that ends a handle between
/// two uses leaves a mark: whether a write of a second replica goes to a copy then depends on no
/// schedule (SEM-194). Each schedule has the same uses in a phase, and the first use of each
/// replica comes before the end of the replica's handle.
class ReplicaUse {
 public:
  /// A replica in a phase; 0: no replica.
  using Mark = std::uint64_t;
  /// The calling replica in the present phase. A command looks once for all its buffers.
  static Mark present() noexcept {
    const detail::ReplicaPhase now = detail::current_phase();
    return now.replica < 0 ? 0 : mark_of(now);
  }
  /// The replica of `mark`, which calls, submits work on the buffer.
  void note(Mark mark) noexcept {
    if (mark == 0) return;
    const std::uint64_t last = last_.load(std::memory_order_relaxed);
    if ((last & ~kSeveral) == mark) return;
    const bool is_second = is_present(last, mark);
    last_.store(is_second ? last | kSeveral : mark, std::memory_order_relaxed);
  }
  /// Whether a replica besides the calling replica has used the buffer in the present phase.
  bool is_of_others() const noexcept {
    const Mark mark = mark_of(detail::current_phase());
    const std::uint64_t last = last_.load(std::memory_order_relaxed);
    return is_present(last, mark) && last != mark;
  }

 private:
  static constexpr std::uint64_t kSeveral = 1;
  static constexpr int kPhaseShift = 24;

  static bool is_present(std::uint64_t last, Mark mark) {
    return last != 0 && last >> kPhaseShift == mark >> kPhaseShift;
  }
  // The phase, the replica from 1, and a bit for several replicas. 0: no use so far.
  static Mark mark_of(const detail::ReplicaPhase& now) {
    const auto replica = static_cast<std::uint64_t>(now.replica + 1);
    return now.phase << kPhaseShift | (replica << 1 & ((std::uint64_t{1} << kPhaseShift) - 1));
  }

  // Atomic for replicas that run at once, and without an order between them.
  std::atomic<std::uint64_t> last_{0};
};

}  // namespace belfry::sim
