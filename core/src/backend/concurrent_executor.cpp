// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/concurrent_run.h"
#include "backend/tracked_carriers.h"
#include "backend/tracked_run.h"
#include "backend/turn_scheduler.h"
#include "belfry/backend/stall_watch.h"
#include "belfry/backend/unwatched.h"

#include <cstdlib>
#include <memory>
#include <utility>

namespace belfry {
namespace {

using detail::Carrier;

class ConcurrentExecutor final : public Executor {
 public:
  explicit ConcurrentExecutor(const ExecutorParts& parts)
      : parts_{.chooser = nullptr, .sink = parts.sink, .agents = nullptr, .limit = parts.limit} {}

  std::string_view name() const override { return "concurrent"; }

  void carry(int replicas, Job& job, const CarryOptions& options) override {
    StallWatch* const watch = stall_watch();
    if (!options.concurrent) return carry_in_turn(replicas, job, options, watch);
    if (watch == nullptr) return carry_at_once(replicas, job, options, parts_.sink);
    detail::TrackedRun run(*this, parts_, *watch, {replicas, job}, options, RunProgress::kAll);
    run.announce();
    carry_at_once(replicas, run, options, &run);
  }

  void announce(const Operation& operation) override {
    if (parts_.sink != nullptr) parts_.sink->on_operation(operation);
  }

  void step(const Operation& operation) override {
    Carrier* const carrier = detail::carrier_on(*this);
    if (carrier != nullptr) return carrier->run->step(*carrier, operation);
    if (parts_.sink != nullptr) parts_.sink->on_operation(operation);
  }

  void block_until(const Operation& operation, Gate& gate) override {
    Carrier& replica = detail::replica_on(*this);
    replica.run->block_until(replica, operation, gate);
  }

  void open(Gate& gate) override {
    const std::lock_guard lock(mutex_);
    detail::open_gate(gate);
  }

  bool on_replica() const override {
    const Carrier* const carrier = detail::carrier_on(*this);
    return carrier != nullptr && carrier->replica >= 0;
  }

  [[noreturn]] void abandon() override {
    Carrier& replica = detail::replica_on(*this);
    replica.run->abandon(replica);
    std::abort();  // Not reached; GCC forgets the attribute of virtual functions.
  }

 private:
  void carry_at_once(int replicas, Job& job, const CarryOptions& options, OperationSink* sink) {
    detail::ConcurrentRun run(*this, sink, workers_, mutex_, parts_.limit);
    run.number = options.number;
    run.carry(replicas, job);
  }

  void carry_in_turn(int replicas, Job& job, const CarryOptions& options, StallWatch* watch) {
    const detail::Unwatched unwatched;
    auto threads = detail::make_thread_carriers(workers_);
    if (watch != nullptr) {
      return detail::carry_tracked(*this, parts_, std::move(threads), {replicas, job}, options);
    }
    detail::TurnScheduler run(*this, parts_, std::move(threads));
    run.number = options.number;
    run.carry(replicas, job, false);
  }

  ExecutorParts parts_;
  std::mutex mutex_;  // Outlives the workers, which unlock it last.
  detail::Workers workers_;
};

}  // namespace

std::unique_ptr<Executor> make_concurrent_executor(const ExecutorParts& parts) {
  return std::make_unique<ConcurrentExecutor>(parts);
}

}  // namespace belfry
