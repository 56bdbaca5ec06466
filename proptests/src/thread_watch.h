// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/stall_watch.h"
#include "overflow_handler.h"

#include <cstdint>
#include <vector>

namespace belfry::testing {

/// The watch of a thread: the runs that the thread has begun and not ended.
class ThreadWatch final : public StallWatch {
 public:
  /// A watch with a limit of 0 is told of nothing, and hides the watch before.
  explicit ThreadWatch(std::uint32_t limit_ms);
  ~ThreadWatch() override;

  void run_began(RunProgress& run) override;
  void run_ended(RunProgress& run) noexcept override;

  std::uint32_t limit_ms() const { return limit_ms_; }
  /// The innermost run, or null. Context: the patrol, or the watched thread.
  RunProgress* innermost() const { return runs_.empty() ? nullptr : runs_.back(); }

 private:
  std::uint32_t limit_ms_;
  StallWatch* before_;
  std::vector<RunProgress*> runs_;  // Guarded by the mutex of the patrol.
  OverflowHandler overflows_;
};

}  // namespace belfry::testing
