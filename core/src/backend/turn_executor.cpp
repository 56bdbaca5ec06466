// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/turn_executor.h"

#include "backend/tracked_carriers.h"
#include "belfry/backend/stall_watch.h"
#include "belfry/backend/unwatched.h"
#include "belfry/error.h"

#include <cstdlib>
#include <string>

namespace belfry {
namespace detail {
namespace {

[[noreturn]] void throw_busy() {
  throw ContextError(
      ErrorCode::kStrategyBusy,
      "another thread runs on this backend, whose carrier is for one thread at a time",
      "let the threads take turns, give each a backend of its own, or use the concurrent carrier");
}

ExecutorParts checked(CarrierKind kind, const ExecutorParts& parts) {
  if (kind == CarrierKind::kFiber) require_stack_bytes(parts.stack_bytes);
  return parts;
}

}  // namespace

// Makes the calling thread the owner of the executor, for the lifetime of the object. A run inside
// a run of this executor, on any thread, changes nothing. The owner may have several outermost
// runs, for example when several replicas of an outer executor, on this thread, each start a run
// here.
class TurnExecutor::ThreadScope {
 public:
  // Throws: ContextError (kStrategyBusy) during runs of another thread.
  explicit ThreadScope(TurnExecutor& executor)
      : executor_(carrier_on(executor) == nullptr ? &executor : nullptr) {
    if (executor_ == nullptr) return;
    std::thread::id owner;
    const std::thread::id caller = std::this_thread::get_id();
    if (!executor.owner_.compare_exchange_strong(owner, caller, std::memory_order_relaxed) &&
        owner != caller) {
      throw_busy();
    }
    ++executor.runs_;
  }
  ~ThreadScope() {
    if (executor_ == nullptr || --executor_->runs_ > 0) return;
    executor_->owner_.store(std::thread::id(), std::memory_order_relaxed);
  }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  TurnExecutor* executor_;
};

// A scheduler for a call of `carry`.
class TurnExecutor::SchedulerLease {
 public:
  explicit SchedulerLease(TurnExecutor& executor) : idle_(executor.idle_) {
    if (idle_.empty()) {
      idle_.reserve(executor.schedulers_ + 1);  // The destructor needs no memory.
      idle_.push_back(
          std::make_unique<TurnScheduler>(executor, executor.parts_, executor.make_carriers()));
      executor.schedulers_ += 1;
    }
    scheduler_ = std::move(idle_.back());
    idle_.pop_back();
  }
  ~SchedulerLease() { idle_.push_back(std::move(scheduler_)); }
  SchedulerLease(const SchedulerLease&) = delete;
  SchedulerLease& operator=(const SchedulerLease&) = delete;

  TurnScheduler& operator*() const { return *scheduler_; }

 private:
  std::vector<std::unique_ptr<TurnScheduler>>& idle_;
  std::unique_ptr<TurnScheduler> scheduler_;
};

TurnExecutor::TurnExecutor(CarrierKind kind, const ExecutorParts& parts, StackPool& stacks)
    : kind_(kind), parts_(checked(kind, parts)), stacks_(stacks, parts.stack_bytes) {
  parts_.stack_bytes = stacks_.bytes();
}

std::unique_ptr<Carriers> TurnExecutor::make_carriers() {
  if (kind_ == CarrierKind::kFiber) return make_fiber_carriers(stacks_);
  return make_thread_carriers(workers_);
}

std::string_view TurnExecutor::name() const {
  return kind_ == CarrierKind::kFiber ? "fiber" : "baton";
}

void TurnExecutor::carry(int replicas, Job& job, const CarryOptions& options) {
  const Unwatched unwatched;
  const ThreadScope alone(*this);
  if (stall_watch() != nullptr) [[unlikely]] {
    return carry_tracked(*this, parts_, make_carriers(), {replicas, job}, options);
  }
  const SchedulerLease scheduler(*this);
  (*scheduler).number = options.number;
  (*scheduler).first_replica = options.first_replica;
  (*scheduler).carry(replicas, job, options.concurrent);
}

void TurnExecutor::announce(const Operation& operation) {
  const Unwatched unwatched;
  if (parts_.sink != nullptr) parts_.sink->on_operation(operation);
}

void TurnExecutor::step(const Operation& operation) {
  const Unwatched unwatched;
  Carrier* const carrier = carrier_on(*this);
  if (carrier == nullptr) return host_step(operation);
  static_cast<TurnScheduler*>(carrier->run)->step(*carrier, operation);
}

// A step of the host, outside every run. Other agents may go first.
void TurnExecutor::host_step(const Operation& operation) {
  Turns turns(parts_.chooser, parts_.agents);
  turns.begin(0);
  Turn turn = turns.preempt_caller();
  for (; turn.kind == Turn::Kind::kAgent; turn = turns.preempt_caller()) {
    parts_.agents->run(turn.index);
  }
  if (parts_.sink != nullptr) parts_.sink->on_operation(operation);
}

void TurnExecutor::block_until(const Operation& operation, Gate& gate) {
  const Unwatched unwatched;
  Carrier* const replica = innermost_replica_on(*this);
  if (replica == nullptr) return block_outer_replica(operation, gate);
  static_cast<TurnScheduler*>(replica->run)->block_until(*replica, operation, gate);
}

// For code of an inner run of a different executor. Apart from `block_until`, which is called most.
[[gnu::noinline]] void TurnExecutor::block_outer_replica(const Operation& operation, Gate& gate) {
  Carrier& replica = outer_replica_on(*this);
  static_cast<TurnScheduler*>(replica.run)->block_until(replica, operation, gate);
}

void TurnExecutor::open(Gate& gate) {
  const Unwatched unwatched;
  open_gate(gate);
}

bool TurnExecutor::on_replica() const {
  const Unwatched unwatched;
  const Carrier* const carrier = carrier_on(*this);
  if (carrier == nullptr) require_calling_thread();
  return carrier != nullptr && carrier->replica >= 0;
}

void TurnExecutor::require_calling_thread() const {
  const std::thread::id owner = owner_.load(std::memory_order_relaxed);
  if (owner != std::thread::id() && owner != std::this_thread::get_id()) throw_busy();
}

void TurnExecutor::abandon() {
  Carrier* replica = nullptr;
  {
    const Unwatched unwatched;
    replica = &replica_on(*this);
  }
  static_cast<TurnScheduler*>(replica->run)->abandon(*replica);
}

}  // namespace detail

void require_stack_bytes(std::size_t bytes, CallSite site) {
  if (bytes >= kLeastStackBytes && bytes <= kMostStackBytes) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "stacks of " + std::to_string(bytes) + " bytes are too " +
                                 (bytes < kLeastStackBytes ? "small" : "large"),
                             "stack_bytes is from " + std::to_string(kLeastStackBytes >> 10) +
                                 " KiB to " + std::to_string(kMostStackBytes >> 30) +
                                 " GiB; its default is 512 KiB, mapped at use",
                             site);
}

std::unique_ptr<Executor> make_fiber_executor(const ExecutorParts& parts) {
  return std::make_unique<detail::TurnExecutor>(detail::CarrierKind::kFiber, parts);
}

std::unique_ptr<Executor> make_baton_executor(const ExecutorParts& parts) {
  return std::make_unique<detail::TurnExecutor>(detail::CarrierKind::kThread, parts);
}

}  // namespace belfry
