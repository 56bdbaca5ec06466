// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/fiber_carriage.h"
#include "backend/running_thread.h"
#include "backend/turn_run.h"

#include <memory>
#include <vector>

namespace belfry::detail {

/// Stack switches on the calling thread. One thread at a time may use an executor of this kind.
class FiberExecutor final : public Executor {
 public:
  FiberExecutor(const ExecutorParts& parts, StackPool& stacks);

  std::string_view name() const override { return "fiber"; }
  void carry(int replicas, Job& job, const CarryOptions& options) override;
  void announce(const Operation& operation) override;
  void step(const Operation& operation) override;
  void block_until(const Operation& operation, Gate& gate) override;
  void open(Gate& gate) override;
  bool on_replica() const override;
  [[noreturn]] void abandon() override;

 private:
  using FiberRun = TurnRun<FiberCarriage>;

  FiberRun* take();
  void give(FiberRun* run);

  RunningThread running_;
  ExecutorParts parts_;
  StackCache stacks_;
  std::vector<std::unique_ptr<FiberRun>> idle_;  // Kept for the memory they hold.
  std::size_t all_ = 0;                          // How many there are, idle or not.
};

}  // namespace belfry::detail
