// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "belfry/backend/stall_watch.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace belfry::detail {

class TrackedCarriers;

/// The bodies of a run.
struct Bodies {
  int replicas;
  Job& job;
};

/// A run whose thread has a StallWatch. Stands between the executor and its parts, and between the
/// executor and the job: notes each step, and does as the parts and the job do. A run without a
/// watch has no such object.
class TrackedRun final : public RunProgress, public OperationSink, public OtherAgents, public Job {
 public:
  /// `turn`: kAll for an executor that runs all replicas at once. The other arguments outlive the
  /// object.
  TrackedRun(const Executor& executor, const ExecutorParts& parts, StallWatch& watch, Bodies bodies,
             const CarryOptions& options, int turn = kCaller);
  ~TrackedRun() override;

  /// The parts for the executor of this run.
  const ExecutorParts& parts() const { return tracked_; }
  /// Tells the watch of the run. Without carriers no replica can be left behind.
  void announce(TrackedCarriers* carriers = nullptr);

  /// The turn goes to a replica, or to kCaller.
  void pass_turn(int replica);
  /// The replica that has been left behind since the latest call, or -1. Tells the job.
  int take_left_behind();

  bool is_below_stack(const void* address) const noexcept override;
  bool can_leave_behind() const override;
  void leave_behind(std::uint32_t limit_ms) override;

  // Cold: see ThreadCarriers::switch_to.
  [[gnu::cold]] void on_operation(const Operation& operation) override;
  [[gnu::cold]] std::uint32_t runnable() override { return parts_.agents->runnable(); }
  [[gnu::cold]] void run(std::uint32_t which) override;
  [[gnu::cold]] AgentId agent(std::uint32_t which) override { return parts_.agents->agent(which); }

  [[gnu::cold]] void begin() noexcept override { job_.begin(); }
  [[gnu::cold]] void body(int replica) noexcept override;
  [[gnu::cold]] Settled settle() noexcept override;
  [[gnu::cold]] void deadlock(const std::vector<int>& blocked) noexcept override {
    job_.deadlock(blocked);
  }
  [[gnu::cold]] void late(bool in_merge, std::int64_t limit_ms) noexcept override {
    job_.late(in_merge, limit_ms);
  }

 private:
  void note(ReplicaProgress& replica, const Operation& operation);

  const Executor& executor_;
  const ExecutorParts& parts_;
  ExecutorParts tracked_;
  StallWatch& watch_;
  Job& job_;
  TrackedCarriers* carriers_ = nullptr;
  bool has_begun_ = false;
  std::atomic<int> left_behind_{-1};  // Not yet seen by the caller.
  std::uint32_t limit_ms_ = 0;
};

}  // namespace belfry::detail
