// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/stack_pool.h"
#include "backend/turn_scheduler.h"
#include "backend/workers.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace belfry::detail {

enum class CarrierKind : std::uint8_t { kFiber, kThread };

/// Runs replicas one at a time, on fibers or on threads. A single thread at a time may call an
/// executor of this kind.
class [[gnu::visibility("hidden")]] TurnExecutor final : public Executor {
 public:
  /// `stacks`: for fibers.
  TurnExecutor(CarrierKind kind, const ExecutorParts& parts,
               StackPool& stacks = StackPool::shared());

  std::string_view name() const override;
  void carry(int replicas, Job& job, const CarryOptions& options) override;
  void announce(const Operation& operation) override;
  void step(const Operation& operation) override;
  void block_until(const Operation& operation, Gate& gate) override;
  void open(Gate& gate) override;
  bool on_replica() const override;
  [[noreturn]] void abandon() override;

 private:
  class ThreadScope;
  class SchedulerLease;

  std::unique_ptr<Carriers> make_carriers();
  void block_outer_replica(const Operation& operation, Gate& gate);
  void host_step(const Operation& operation);
  void require_calling_thread() const;

  CarrierKind kind_;
  ExecutorParts parts_;
  StackCache stacks_;
  Workers workers_;
  std::vector<std::unique_ptr<TurnScheduler>> idle_;  // Kept for their memory.
  std::size_t schedulers_ = 0;                        // Idle or not.
  // The thread that called `carry`, while its runs last. Atomic, and without an order for other
  // threads: the id only tells a foreign thread that it must not call.
  std::atomic<std::thread::id> owner_{};
  int runs_ = 0;  // Runs of the owner that began outside all runs.
};

}  // namespace belfry::detail
