// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/wait_limit.h"
#include "belfry/cuda/options.h"

#include <chrono>
#include <functional>
#include <memory>

namespace belfry::cuda {

/// The clock of the executor, with the deadlines of the options.
class Deadlines final : public WaitLimit {
 public:
  explicit Deadlines(const Options& options);

  std::int64_t now_ms() const override;
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed) override;

 private:
  std::chrono::milliseconds nap_;
};

/// Calls `work` on a thread of its own after each delivery of a signal, until the end of the
/// object. The handler writes a byte to a pipe that the thread reads. One object at a time has a
/// signal.
class OnSignal {
 public:
  /// Throws: InvalidArgumentError (kInvalidArgument) for a number of no signal, or a signal that
  /// another object has.
  OnSignal(int signal, std::function<void()> work);
  OnSignal(const OnSignal&) = delete;
  OnSignal& operator=(const OnSignal&) = delete;
  ~OnSignal();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace belfry::cuda
