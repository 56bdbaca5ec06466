// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-117 and what StrategyHooks promises: what a hook throws, before its work, amid it or after
// it, comes out of the verb that asked for it as it was thrown, whatever its type. Then variables
// are as before or as after, nothing stays behind, and the strategy goes on working.
#include "suites/throwing_campaign.h"

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

// Does what MirroredStrategy does, and comes by a point before and after.
class PointedStrategy final : public Strategy {
 public:
  PointedStrategy(Backend& backend, Planter& planter, Asked& asked)
      : Strategy(backend, StrategyOptions{}, CallSite::here()), planter_(planter), asked_(asked) {}

 private:
  VariablePlaces do_place(Synchronization kind) const override {
    come_by(0);
    return Strategy::do_place(kind);
  }
  void do_initialise(ComponentWork& variable) override {
    come_by(1);
    Strategy::do_initialise(variable);
    come_by(1);
  }
  void do_update(ComponentWork& update) override {
    come_by(2);
    for (int component = 0; component < update.size(); ++component) {
      update.compute(component);
      come_by(2);
    }
  }
  void do_reduce(const ReduceCall& call) override {
    come_by(3);
    Strategy::do_reduce(call);
    come_by(3);
  }
  std::vector<AnyTensor> do_broadcast(const AnyTensor& source,
                                      std::span<const Placement> targets) override {
    come_by(4);
    std::vector<AnyTensor> copies = Strategy::do_broadcast(source, targets);
    come_by(4);
    return copies;
  }
  void do_run(StrategyStep& replicas) override {
    come_by(5);
    Strategy::do_run(replicas);
    come_by(5);
  }
  void do_merge(StrategyStep& merge) override {
    come_by(6);
    Strategy::do_merge(merge);
    come_by(6);
  }

  void come_by(std::size_t hook) const {
    ++asked_[hook];
    planter_.point();
  }

  Planter& planter_;
  Asked& asked_;
};

class ThrowingHooks : public Property {
 protected:
  std::string go(const VerbsCase& drawn, Planter::Extent extent) {
    Bench bench(*this, drawn.backend);
    return Campaign(bench, drawn, subject_).go(extent);
  }

  Asked asked_{};
  const Subject subject_{
      .make = [this](Backend& backend, Planter& planter) -> std::unique_ptr<Strategy> {
        return std::make_unique<PointedStrategy>(backend, planter, asked_);
      },
      .has_points = true};
};

TEST_F(ThrowingHooks, AtAnyPointOfAnyVerbComeOutAndChangeAllOrNothing) {
  for (std::size_t verb = 0; verb < throwing_verbs().size(); ++verb) {
    for (const BackendRequest& backend : small_backends(verb)) {
      const VerbsCase drawn{backend, {verb}};
      EXPECT_EQ(go(drawn, Planter::Extent::kOnce), "") << to_string(drawn);
      if (backend.devices < 3) continue;
      EXPECT_EQ(go(drawn, Planter::Extent::kFromThenOn), "") << to_string(drawn);
    }
  }
  for (const std::atomic<int>& hook : asked_) EXPECT_GT(hook, 0);
}

}  // namespace
}  // namespace belfry::testing::hook_props
