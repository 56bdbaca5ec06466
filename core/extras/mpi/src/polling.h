// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <cstdint>

namespace belfry::mpi {

/// Milliseconds of a clock that no correction of the time of day changes.
std::int64_t now_ms();

/// The waiting time of this process, in milliseconds. The time between two readings counts for at
/// most half a deadline, and at most a second: a stop of this process may be a stop of all.
class WaitedTime {
 public:
  /// The time since the first reading.
  std::int64_t read(const Deadline& deadline);

 private:
  std::int64_t waited_ms_ = 0;
  std::int64_t last_ms_ = now_ms();
};

/// The pauses between two looks for messages: none at first, then sleeps of up to a millisecond.
class Polling {
 public:
  /// `is_crowded`: the processes of this host outnumber its processors. The time without pauses is
  /// short, and the rest of the processor's time slice is given away before the first sleep: the
  /// awaited process may need this processor.
  explicit Polling(bool is_crowded = true) : is_crowded_(is_crowded) {}

  /// A message has come: the next one may come at once.
  void moved() { looks_ = 0; }
  void pause();
  /// Whether the clock is due: a look at the clock costs as much as a look for messages.
  bool is_due() const { return looks_ % kDue == kDue - 1 || is_asleep(); }

 private:
  // Looks before the first yield of a crowded host, and before the first sleep.
  static constexpr int kCrowdedBusy = 50;
  static constexpr int kCrowdedAwake = 2000;
  static constexpr int kAwake = 20000;
  static constexpr int kDue = 32;

  int awake() const { return is_crowded_ ? kCrowdedAwake : kAwake; }
  bool is_asleep() const { return looks_ > awake(); }

  bool is_crowded_;
  int looks_ = 0;
};

}  // namespace belfry::mpi
