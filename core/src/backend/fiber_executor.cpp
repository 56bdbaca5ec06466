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

void FiberExecutor::carry(int replicas, Job& job, const CarryOptions& options) {
  if (idle_.empty()) idle_.push_back(std::make_unique<FiberRun>(*this, parts_, stacks_));
  std::unique_ptr<FiberRun> run = std::move(idle_.back());
  idle_.pop_back();
  struct Return {
    std::vector<std::unique_ptr<FiberRun>>& to;
    std::unique_ptr<FiberRun>& run;
    ~Return() { to.push_back(std::move(run)); }
  };
  idle_.reserve(idle_.size() + 1);
  const Return on_exit{idle_, run};
  run->carry(replicas, job, options.concurrent);
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

void FiberExecutor::block_until(const Operation& operation, Gate& gate) {
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
  return carrier != nullptr && carrier->replica >= 0;
}

void FiberExecutor::abandon() {
  const Unwatched unwatched;
  Carrier& replica = replica_on(*this);
  static_cast<FiberRun*>(replica.run)->abandon(replica);
}

}  // namespace detail

std::unique_ptr<Executor> make_fiber_executor(const ExecutorParts& parts) {
  return std::make_unique<detail::FiberExecutor>(parts, detail::StackPool::shared());
}

}  // namespace belfry
