// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <array>
#include <span>

namespace belfry::testing {

/// A thread that stands still inside a handler of a signal, for the lifetime of the object or for
/// ever. A single thread of the process makes such objects, one at a time.
class HeldThread {
 public:
  /// Stops `thread`, which belongs to the process and is not the calling thread. A thread that does
  /// not answer within a second is not held.
  explicit HeldThread(pthread_t thread);
  /// Lets the thread go on.
  ~HeldThread();
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;

  bool is_held() const { return is_held_; }
  /// The thread never goes on.
  void keep() { is_kept_ = true; }
  /// The return addresses of the calls that the thread is in, innermost first.
  std::span<void* const> calls() const;

  struct Hold;

 private:
  Hold* hold_;  // Leaked if the thread may still read the object.
  bool is_held_ = false;
  bool is_kept_ = false;
};

}  // namespace belfry::testing
