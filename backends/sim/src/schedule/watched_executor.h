// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "belfry/backend/witness.h"
#include "engine/watch.h"
#include "schedule/forwarding_executor.h"
#include "schedule/watched_job.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace belfry::sim {

/// Carries as `inner` does, gives every run a number, and tells an observer of its begin and end,
/// of variables made in replicas, and of replicas left behind. Tells the watch of host memory who
/// goes on.
class WatchedExecutor final : public ForwardingExecutor, public VariableWitness {
 public:
  WatchedExecutor(std::unique_ptr<Executor> inner, engine::Watch& watch)
      : ForwardingExecutor(std::move(inner)), watch_(watch) {}

  void carry(int replicas, Job& job, const CarryOptions& options) override {
    CarryOptions numbered = options;
    numbered.number = watch_.begin_run();
    WatchedJob watched(job, watch_);
    WatchedJob* const outer = std::exchange(job_, &watched);
    tell_run(Observation::Kind::kRunBegan, numbered.number);
    watch_.begin_phase();
    try {
      const engine::Watch::Stay nobody(watch_, std::nullopt);
      inner().carry(replicas, watched, numbered);
    } catch (...) {
      end(numbered.number, outer);
      throw;
    }
    end(numbered.number, outer);
  }
  void announce(const Operation& operation) override {
    if (operation.kind == OperationKind::kMerge && job_ != nullptr) job_->begin_merge();
    inner().announce(operation);
  }
  void step(const Operation& operation) override {
    const engine::Watch::Stay nobody(watch_, std::nullopt);
    inner().step(operation);
  }
  void block_until(const Operation& operation, Gate& gate) override {
    const engine::Watch::Stay nobody(watch_, std::nullopt);
    inner().block_until(operation, gate);
  }
  [[noreturn]] void abandon() override {
    tell({.kind = Observation::Kind::kAbandoned});
    inner().abandon();
    std::terminate();  // Not reached, as in ForwardingExecutor.
  }

  void made(const void* variable) override {
    const std::uint32_t number = watch_.name_variable(variable);
    watch_.make_variable(number);
    tell({.kind = Observation::Kind::kVariableMade, .record = number});
  }
  void taken(const void* variable) override {
    const std::uint32_t number = watch_.number_of_variable(variable);
    watch_.take_variable(number);
    tell({.kind = Observation::Kind::kVariableTaken, .record = number});
  }

 private:
  void end(std::uint32_t run, WatchedJob* outer) {
    job_ = outer;
    watch_.begin_phase();
    tell_run(Observation::Kind::kRunEnded, run);
  }
  void tell_run(Observation::Kind kind, std::uint32_t run) { tell({.kind = kind, .run = run}); }
  void tell(Observation seen) {
    seen.actor = watch_.actor();
    seen.site = detail::submitting_site();
    watch_.tell(seen);
  }

  engine::Watch& watch_;
  WatchedJob* job_ = nullptr;  // Of the innermost run.
};

}  // namespace belfry::sim
