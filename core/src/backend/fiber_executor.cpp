// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/fiber_executor.h"

#include "backend/host_step.h"

namespace belfry {
namespace detail {

FiberExecutor::FiberExecutor(const ExecutorParts& parts, StackPool& stacks)
    : parts_(parts), stacks_(stacks, parts.stack_bytes) {
  parts_.stack_bytes = stacks_.bytes();
}

FiberExecutor::FiberRun* FiberExecutor::take() {
  const Unwatched unwatched;
  if (idle_.empty()) {
    idle_.reserve(all_ + 1);  // So that giving back never fails.
    idle_.push_back(std::make_unique<FiberRun>(*this, parts_, stacks_));
    all_ += 1;
  }
  FiberRun* const run = idle_.back().release();
  idle_.pop_back();
  return run;
}

void FiberExecutor::give(FiberRun* run) {
  const Unwatched unwatched;
  idle_.emplace_back(run);
}

void FiberExecutor::carry(int replicas, Job& job, const CarryOptions& options) {
  struct Lease {
    FiberExecutor& executor;
    FiberRun* run;
    ~Lease() { executor.give(run); }
  };
  const RunningThread::Run alone(running_, carrier_on(*this) != nullptr);
  const Lease lease{*this, take()};
  lease.run->carry(replicas, job, options.concurrent);
}

void FiberExecutor::announce(const Operation& operation) {
  const Unwatched unwatched;
  if (parts_.sink != nullptr) parts_.sink->on_operation(operation);
}

void FiberExecutor::step(const Operation& operation) {
  const Unwatched unwatched;
  Carrier* const carrier = carrier_on(*this);
  if (carrier == nullptr) return host_step(parts_, operation);
  static_cast<FiberRun*>(carrier->run)->step(*carrier, operation);
}

// In one piece: replicas do hardly anything else as often.
[[gnu::flatten]] void FiberExecutor::block_until(const Operation& operation, Gate& gate) {
  const Unwatched unwatched;
  Carrier& replica = replica_on(*this);
  static_cast<FiberRun*>(replica.run)->block_until(replica, operation, gate);
}

void FiberExecutor::open(Gate& gate) {
  const Unwatched unwatched;
  open_gate(gate);
}

bool FiberExecutor::on_replica() const {
  const Unwatched unwatched;
  const Carrier* const carrier = carrier_on(*this);
  if (carrier == nullptr) running_.require_mine();
  return carrier != nullptr && carrier->replica >= 0;
}

void FiberExecutor::abandon() {
  Carrier* replica = nullptr;
  {
    const Unwatched unwatched;
    replica = &replica_on(*this);
  }
  static_cast<FiberRun*>(replica->run)->abandon(*replica);
}

}  // namespace detail

std::unique_ptr<Executor> make_fiber_executor(const ExecutorParts& parts) {
  return std::make_unique<detail::FiberExecutor>(parts, detail::StackPool::shared());
}

}  // namespace belfry
