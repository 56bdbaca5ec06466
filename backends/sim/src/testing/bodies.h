// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "belfry/error.h"

#include <atomic>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

namespace belfry::sim::testing {

/// Replica bodies without merges, sufficient for tests of a backend.
class Bodies final : public Job {
 public:
  Bodies(int replicas, std::function<void(int)> body)
      : body_(std::move(body)), thrown(static_cast<std::size_t>(replicas)) {}

  void body(int replica) noexcept override {
    try {
      body_(replica);
    } catch (const ReplicaCancelled&) {
      cancelled = true;
    } catch (...) {
      thrown[static_cast<std::size_t>(replica)] = std::current_exception();
    }
    ++ended_;
  }
  Settled settle() noexcept override {
    return ended_ == static_cast<int>(thrown.size()) ? Settled::kFinished : Settled::kWaiting;
  }
  void deadlock(const std::vector<int>&) noexcept override { deadlocked = true; }

 private:
  std::function<void(int)> body_;
  std::atomic<int> ended_{0};

 public:
  std::vector<std::exception_ptr> thrown;  ///< By replica.
  std::atomic<bool> cancelled{false};
  bool deadlocked = false;
};

/// Runs `body` as `replicas` replicas of `executor`. Rethrows the exception of the lowest replica
/// that threw.
inline void carry(Executor& executor, int replicas, std::function<void(int)> body,
                  const CarryOptions& options = {}) {
  Bodies bodies(replicas, std::move(body));
  executor.carry(replicas, bodies, options);
  for (const std::exception_ptr& exception : bodies.thrown) {
    if (exception != nullptr) std::rethrow_exception(exception);
  }
}

}  // namespace belfry::sim::testing
