// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/carrier.h"
#include "backend/tracked_run.h"

#include <memory>
#include <span>

namespace belfry::detail {

class TurnScheduler;

/// Carries as `inner` does, and tells a TrackedRun of each turn.
class [[gnu::visibility("hidden")]] TrackedCarriers final : public Carriers {
 public:
  TrackedCarriers(std::unique_ptr<Carriers> inner, TrackedRun& run);

  /// Before the run. `scheduler` owns the object.
  void attach(TurnScheduler& scheduler) { scheduler_ = &scheduler; }
  /// During the run.
  bool are_threads() const { return inner_->stack_of(*caller_) == nullptr; }
  /// Resumes the caller, which sleeps, although no carrier switched to the caller. Context: a
  /// thread that is no carrier. Only for threads.
  void wake_caller();
  /// Whether `address` lies in the page that guards the running carrier's stack.
  bool guards(const void* address) const noexcept;

  TurnCarrier& begin(int replicas, bool serial) override;
  void end() override { inner_->end(); }
  TurnCarrier& start(int replica, void (*main)(TurnCarrier&)) override {
    return inner_->start(replica, main);
  }
  /// Cold: see ThreadCarriers::switch_to.
  [[gnu::cold]] void switch_to(TurnCarrier& from, TurnCarrier& to) override;
  [[gnu::cold]] void leave(TurnCarrier& from, TurnCarrier& to) override;
  [[noreturn, gnu::cold]] void abandon(TurnCarrier& from, TurnCarrier& to) override;
  [[gnu::cold]] const Stack* stack_of(const TurnCarrier& carrier) const override {
    return inner_->stack_of(carrier);
  }
  [[gnu::cold]] void prefetch(const Turns& turns, std::span<TurnCarrier* const> carriers) override {
    inner_->prefetch(turns, carriers);
  }

 private:
  void pass_turn(const TurnCarrier& to);
  void resume_caller();

  std::unique_ptr<Carriers> inner_;
  TrackedRun* run_;
  TurnScheduler* scheduler_ = nullptr;
  TurnCarrier* caller_ = nullptr;
  const TurnCarrier* running_ = nullptr;
};

/// Executor::carry with a scheduler of its own, whose steps the StallWatch of the thread sees.
void carry_tracked(const Executor& executor, const ExecutorParts& parts,
                   std::unique_ptr<Carriers> carriers, Bodies bodies, const CarryOptions& options);

}  // namespace belfry::detail
