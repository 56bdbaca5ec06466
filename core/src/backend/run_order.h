// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/sanitizers.h"

namespace belfry::detail {

/// The order between the replicas of a run and its caller, for ThreadSanitizer; in other builds
/// nothing. A switch between stacks orders nothing by itself. The caller comes after every replica
/// that has paused or ended, and a replica comes after the code that let it go on. In the serial
/// schedule a replica also comes after the replicas before it: that order is a promise, and code
/// may build on it.
class RunOrder {
 public:
  void begin(bool serial) { serial_ = serial; }

  /// A replica is about to pause, or has ended.
  void pause() { tsan_release(this); }
  /// The caller is about to settle.
  void settle() { tsan_acquire(this); }
  /// A replica starts.
  void start() { follow_others(); }
  /// The caller, or a replica, lets `seat` go on.
  static void let_go_on(void* seat) { tsan_release(seat); }
  /// The replica on `seat` goes on.
  void go_on(void* seat) {
    tsan_acquire(seat);
    follow_others();
  }

 private:
  void follow_others() {
    if (kTsan && serial_) tsan_acquire(this);
  }

  bool serial_ = false;
};

}  // namespace belfry::detail
