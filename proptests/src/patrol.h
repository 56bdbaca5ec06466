// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thread_watch.h"

#include <mutex>

namespace belfry::testing {

/// The thread that looks after the watches of all threads, with the only clock of the library. The
/// thread exists while there are watches.
class Patrol {
 public:
  static Patrol& shared();

  void add(ThreadWatch& watch);
  /// Returns when the patrol does not look at `watch` any more.
  void remove(ThreadWatch& watch);
  /// The watches hold the lock while their runs change; the patrol holds the lock while it looks.
  /// After a fork, the child has a patrol of its own as soon as a run begins.
  std::unique_lock<std::mutex> lock();

  struct State;

 private:
  Patrol();

  State* state_;  // Never destroyed: a process may end while a replica stands still.
};

}  // namespace belfry::testing
