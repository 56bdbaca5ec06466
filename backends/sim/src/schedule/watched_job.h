// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "engine/watch.h"

#include <cstdint>
#include <vector>

namespace belfry::sim {

/// Does everything as `inner` does, and tells a watch which agent makes the next accesses to host
/// memory.
class WatchedJob final : public Job {
 public:
  WatchedJob(Job& inner, engine::Watch& watch) : inner_(inner), watch_(watch) {}

  void begin() noexcept override { inner_.begin(); }
  void body(int replica) noexcept override {
    const engine::Watch::Stay stay(watch_, watch_.actor());
    inner_.body(replica);
  }
  Settled settle() noexcept override {
    merged_ = false;
    const engine::Watch::Stay stay(watch_, watch_.actor());
    const Settled settled = inner_.settle();
    if (merged_) watch_.begin_phase();
    return settled;
  }
  void deadlock(const std::vector<int>& blocked) noexcept override { inner_.deadlock(blocked); }
  void stalled(int replica, std::uint32_t limit_ms) noexcept override {
    inner_.stalled(replica, limit_ms);
  }

  /// A merge function is about to be called: all replicas are at the merge.
  void begin_merge() {
    merged_ = true;
    watch_.begin_phase();
  }

 private:
  Job& inner_;
  engine::Watch& watch_;
  bool merged_ = false;
};

}  // namespace belfry::sim
