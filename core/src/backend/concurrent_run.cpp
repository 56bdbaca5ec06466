// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/concurrent_run.h"

#include "belfry/error.h"

namespace belfry::detail {

ConcurrentRun::ConcurrentRun(const Executor& executor, OperationSink* sink, Workers& workers,
                             std::mutex& mutex, WaitLimit* limit)
    : Run(executor), sink_(sink), pool_(&workers), mutex_(&mutex), limit_(limit) {}

void ConcurrentRun::carry(int replicas, Job& job) {
  job_ = &job;
  callers_state_ = ThreadState::current();
  caller_ = {this, -1, nullptr};
  const CarrierScope scope(caller_);
  start(replicas);
  for (;;) {
    wait_until_idle();
    if (job.settle() == Job::Settled::kFinished) return;
    if (admitted_.empty()) cancel_blocked();
    resume_admitted();
  }
}

void ConcurrentRun::start(int replicas) {
  // Gets all the memory of the run first: `carry` cannot throw after the start of its threads.
  admitted_.reserve(static_cast<std::size_t>(replicas));
  workers_ = pool_->take(static_cast<std::size_t>(replicas));
  running_ = workers_.size();
  alive_ = running_;
  if (limit_ != nullptr) begin_ms_ = limit_->now_ms();
  for (int i = 0; i < replicas; ++i) {
    Worker& worker = *workers_[static_cast<std::size_t>(i)];
    static_cast<Carrier&>(worker) = {this, i, &caller_};
    worker.cancelled = false;
    worker.main = &ConcurrentRun::execute_body;
  }
  job_->begin();
  // A worker leaves `workers_` at its end, but no worker ends before its wake-up here.
  for (Worker* const worker : workers_) worker->wake.post();
}

void ConcurrentRun::wait_until_idle() {
  std::unique_lock lock(*mutex_);
  if (limit_ != nullptr) wait_within_limit(lock);
  idle_.wait(lock, [this] { return running_ == 0; });
  settling_ = true;
}

// After the limit the caller waits for the late replicas: a thread cannot be stopped.
void ConcurrentRun::wait_within_limit(std::unique_lock<std::mutex>& lock) {
  std::int64_t blocked_since = -1;
  while (running_ > 0 && !is_late_) {
    limit_->wait(lock, idle_);
    const std::int64_t now = limit_->now_ms();
    if (running_ == 0) return;
    if (running_ == alive_) {
      blocked_since = -1;
    } else if (blocked_since < 0) {
      blocked_since = now;
    }
    const std::int64_t merge_ms = limit_->merge_ms();
    const std::int64_t run_ms = limit_->run_ms();
    const bool in_merge = merge_ms > 0 && blocked_since >= 0 && now - blocked_since >= merge_ms;
    if (!in_merge && (run_ms == 0 || now - begin_ms_ < run_ms)) continue;
    is_late_ = true;
    job_->late(in_merge, in_merge ? merge_ms : run_ms);
    cancel_waiting();
  }
}

void ConcurrentRun::cancel_waiting() {
  for (Worker* const worker : workers_) {
    if (worker == nullptr || worker->gate == nullptr) continue;
    std::erase_if(worker->gate->waiters(), [&](const Gate::Waiter& waiter) {
      return waiter.run == this && waiter.replica == worker->replica;
    });
    worker->cancelled = true;
    worker->gate = nullptr;
    ++running_;
    worker->wake.post();
  }
}

void ConcurrentRun::resume_admitted() {
  const std::lock_guard lock(*mutex_);
  settling_ = false;
  running_ = admitted_.size();
  for (const int id : admitted_) workers_[static_cast<std::size_t>(id)]->wake.post();
  admitted_.clear();
}

void ConcurrentRun::cancel_blocked() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i] != nullptr) admitted_.push_back(static_cast<int>(i));
  }
  job_->deadlock(admitted_);
  check(!admitted_.empty(), "a run waits, but no replica is left");
  const std::lock_guard lock(*mutex_);
  for (const int id : admitted_) {
    Worker& worker = *workers_[static_cast<std::size_t>(id)];
    worker.cancelled = true;
    std::erase_if(worker.gate->waiters(),
                  [&](const Gate::Waiter& waiter) { return waiter.run == this; });
  }
}

void ConcurrentRun::step(Carrier&, const Operation& operation) {
  if (sink_ != nullptr) sink_->on_operation(operation);
}

void ConcurrentRun::block_until(Carrier& replica, const Operation& operation, Gate& gate) {
  auto& worker = static_cast<Worker&>(replica);
  {
    const std::lock_guard lock(*mutex_);
    if (sink_ != nullptr) sink_->on_operation(operation);
    gate.waiters().push_back({this, worker.replica});
    worker.gate = &gate;
    stop_running();
  }
  worker.wake.wait();
  if (worker.cancelled) {
    worker.cancelled = false;
    throw ReplicaCancelled{};
  }
}

void ConcurrentRun::admit(std::span<const Gate::Waiter> replicas) {
  for (const Gate::Waiter& waiter : replicas) {
    Worker& worker = *workers_[static_cast<std::size_t>(waiter.replica)];
    worker.gate = nullptr;
    if (settling_) {
      admitted_.push_back(waiter.replica);
    } else {
      ++running_;
      worker.wake.post();
    }
  }
}

// The run may be gone after the release of the mutex: the caller only releases the mutex.
void ConcurrentRun::stop_running() {
  if (--running_ == 0) idle_.notify_one();
}

void ConcurrentRun::execute_body(TurnCarrier& carrier) {
  auto& worker = static_cast<Worker&>(carrier);
  auto& run = static_cast<ConcurrentRun&>(*worker.run);
  const int replica = worker.replica;
  current = {nullptr, &worker};
  run.step(worker, {.kind = OperationKind::kStart, .agent = {AgentId::Kind::kReplica, replica}});
  run.callers_state_.restore();
  run.job_->body(replica);
  std::mutex& mutex = *run.mutex_;
  const std::lock_guard lock(mutex);
  run.workers_[static_cast<std::size_t>(replica)] = nullptr;
  run.pool_->give(worker);
  --run.alive_;
  run.stop_running();
}

void ConcurrentRun::abandon(Carrier& replica) {
  auto& worker = static_cast<Worker&>(replica);
  {
    const std::lock_guard lock(*mutex_);
    workers_[static_cast<std::size_t>(worker.replica)] = nullptr;
    --alive_;
    stop_running();
  }
  Workers::forsake(worker);
}

}  // namespace belfry::detail
