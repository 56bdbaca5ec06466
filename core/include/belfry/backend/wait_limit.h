// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace belfry {

/// Limits how long an executor waits for replicas that run at once. The library has no clock: a
/// backend with a clock of its own gives the executor a limit (ExecutorParts::limit).
class WaitLimit {
 public:
  /// The limits in ms; 0: none.
  WaitLimit(std::int64_t merge_ms, std::int64_t run_ms) : merge_ms_(merge_ms), run_ms_(run_ms) {}
  WaitLimit(const WaitLimit&) = delete;
  WaitLimit& operator=(const WaitLimit&) = delete;
  virtual ~WaitLimit() = default;

  /// How long replicas wait at a merge for other replicas.
  std::int64_t merge_ms() const { return merge_ms_; }
  std::int64_t run_ms() const { return run_ms_; }  ///< How long a run takes.

  virtual std::int64_t now_ms() const = 0;  ///< The time.
  /// Waits for a notification of `changed`, or for a small part of the shortest limit.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed) = 0;

 private:
  std::int64_t merge_ms_;
  std::int64_t run_ms_;
};

}  // namespace belfry
