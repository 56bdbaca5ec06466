// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/carrier.h"
#include "backend/semaphore.h"

#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace belfry::detail {

/// Somewhere a thread can be left and resumed.
struct ThreadPlace {
  Semaphore wake;
  bool detour = false;  ///< For whoever takes turns.
};

/// A thread that carries one replica at a time.
struct Worker : Carrier, ThreadPlace {
  Gate* gate = nullptr;
  bool cancelled = false;
  void (*live)(Worker&) = nullptr;  ///< Called once after each wake; null ends the thread.
  std::thread thread;
};

/// Threads, kept alive between runs. Thread-safe.
class Workers {
 public:
  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  /// Throws: UnsupportedError when the system has no more threads; std::bad_alloc.
  std::vector<Worker*> take(std::size_t count);
  /// From here on the worker's own code touches nothing of `worker` but its `wake`.
  void give(Worker& worker);
  /// Keeps the calling thread, which is `worker`'s, for ever.
  [[noreturn]] static void forsake(Worker& worker);

 private:
  Worker* make();

  std::mutex mutex_;
  std::vector<Worker*> idle_;  // Has room for all.
  std::size_t all_ = 0;        // Idle or not.
};

}  // namespace belfry::detail
