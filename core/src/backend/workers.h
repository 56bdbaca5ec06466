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

/// A thread that carries replicas in turn. `main` is called once after each wake; without `main`
/// the thread ends. The caller of a run is a Worker without its own thread.
struct Worker : TurnCarrier {
  Semaphore wake;
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
  /// Takes `worker` back. Afterwards the code on the thread uses only `wake` of `worker`.
  void give(Worker& worker);
  /// Keeps the calling thread, the thread of `worker`, for ever.
  [[noreturn]] static void forsake(Worker& worker);

 private:
  Worker* make();

  std::mutex mutex_;
  std::vector<Worker*> idle_;  // Has room for all.
  std::size_t all_ = 0;        // Idle or not.
};

}  // namespace belfry::detail
