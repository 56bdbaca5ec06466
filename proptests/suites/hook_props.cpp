// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-117 and StrategyHooks: an exception of a hook, thrown before, during or after the work of the
// hook, leaves the verb as it was thrown, whatever its type. Afterwards variables have their values
// from before or from after, no memory is left over, and the strategy goes on working.
#include "suites/throwing/fault_sweep.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace belfry::testing::hook_props {
namespace {

constexpr std::size_t kHooks = 7;

// How often each hook was asked. Replicas may make variables at the same time.
using Asked = std::array<std::atomic<int>, kHooks>;

// Behaves like MirroredStrategy, with a fault point before and after each hook.
class StrategyWithFaultPoints final : public Strategy {
 public:
  StrategyWithFaultPoints(Backend& backend, FaultInjector& injector, Asked& asked)
      : Strategy(backend, StrategyOptions{}, CallSite::here()),
        injector_(injector),
        asked_(asked) {}

 private:
  VariablePlaces do_place(Synchronization kind) const override {
    pass_point(0);
    return Strategy::do_place(kind);
  }
  void do_initialise(ComponentWork& variable) override {
    pass_point(1);
    Strategy::do_initialise(variable);
    pass_point(1);
  }
  void do_update(ComponentWork& update) override {
    pass_point(2);
    for (int component = 0; component < update.size(); ++component) {
      update.compute(component);
      pass_point(2);
    }
  }
  void do_reduce(const ReduceCall& call) override {
    pass_point(3);
    Strategy::do_reduce(call);
    pass_point(3);
  }
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override {
    pass_point(4);
    std::vector<AnyTensor> copies = Strategy::do_broadcast(source, targets);
    pass_point(4);
    return copies;
  }
  void do_run(StrategyStep& replicas) override {
    pass_point(5);
    Strategy::do_run(replicas);
    pass_point(5);
  }
  void do_merge(StrategyStep& merge) override {
    pass_point(6);
    Strategy::do_merge(merge);
    pass_point(6);
  }

  void pass_point(std::size_t hook) const {
    ++asked_[hook];
    injector_.point();
  }

  FaultInjector& injector_;
  Asked& asked_;
};

class ExceptionsOfHooks : public Property {
 protected:
  std::string sweep(const VerbsCase& drawn, FaultInjector::Extent extent) {
    Bench bench(*this, drawn.backend);
    return FaultSweep(bench, drawn, subject_).sweep(extent);
  }

  Asked asked_{};
  const Subject subject_{
      .make = [this](Backend& backend, FaultInjector& injector) -> std::unique_ptr<Strategy> {
        return std::make_unique<StrategyWithFaultPoints>(backend, injector, asked_);
      },
      .has_points = true};
};

class ExceptionsOfHooksInAVerb : public ExceptionsOfHooks,
                                 public ::testing::WithParamInterface<std::size_t> {};

TEST_P(ExceptionsOfHooksInAVerb, ChangeAllOrNothing) {
  for (const BackendRequest& backend : small_backends(GetParam())) {
    const VerbsCase drawn{backend, {GetParam()}};
    EXPECT_EQ(sweep(drawn, FaultInjector::Extent::kOnce), "") << to_string(drawn);
    if (backend.devices < 3) continue;
    EXPECT_EQ(sweep(drawn, FaultInjector::Extent::kFromThenOn), "") << to_string(drawn);
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, ExceptionsOfHooksInAVerb,
                         ::testing::Range(std::size_t{0}, throwing_verbs().size()), name_of_verb);

// The verbs together, on a single backend each.
TEST_F(ExceptionsOfHooks, AreThrownByEveryHook) {
  for (std::size_t verb = 0; verb < throwing_verbs().size(); ++verb) {
    const VerbsCase drawn{small_backends(verb)[2], {verb}};
    EXPECT_EQ(sweep(drawn, FaultInjector::Extent::kOnce), "") << to_string(drawn);
  }
  for (const std::atomic<int>& hook : asked_) EXPECT_GT(hook, 0);
}

}  // namespace
}  // namespace belfry::testing::hook_props
