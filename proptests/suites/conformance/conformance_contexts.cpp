// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about current contexts, strategies and devices.
#include "belfry/current.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/strategy_fixture.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace belfry::testing::conformance_contexts {
namespace {

// Outside everything: the default strategy's only replica is current.
void expect_default_state() {
  EXPECT_FALSE(has_strategy());
  ASSERT_NE(current_replica(), nullptr);
  EXPECT_EQ(current_cross_replica(), nullptr);
  EXPECT_EQ(&current_replica()->strategy(), &current_strategy());
  EXPECT_EQ(current_strategy().num_replicas(), 1);
}

void expect_cross_context_of(const Strategy& strategy) {
  EXPECT_EQ(current_replica(), nullptr);
  ASSERT_NE(current_cross_replica(), nullptr);
  EXPECT_EQ(&current_cross_replica()->strategy(), &strategy);
  EXPECT_EQ(&current_strategy(), &strategy);
}

void expect_in_scope_of(const Strategy& strategy) {
  EXPECT_TRUE(has_strategy());
  expect_cross_context_of(strategy);
}

// The default strategy is current, and does not count as a strategy of the program.
void expect_in_scope_of_default(const Strategy& fallback) {
  EXPECT_FALSE(has_strategy());
  expect_cross_context_of(fallback);
}

class ContextConformance : public Property {
 protected:
  explicit ContextConformance(int replicas = 1) : bench_(*this, devices(replicas)) {
    strategy_.run([](ReplicaContext& replica) {
      add(replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2}, 1.0F)), 1.0F).to_host();
    });
  }
  void TearDown() override {
    expect_default_state();
    add_work(backend_factory().work(bench_.backend()));
    Property::TearDown();
  }

  Bench bench_;
  MirroredStrategy strategy_{bench_.backend()};
  MirroredStrategy other_{bench_.backend()};
};

class ContextConformanceOfTwo : public ContextConformance {
 protected:
  ContextConformanceOfTwo() : ContextConformance(2) {}
};

TEST_F(ContextConformance, CTX_01_OutsideEverythingTheDefaultReplicaIsCurrent) {
  testing::asserts("SEM-16");
  expect_default_state();
}

TEST_F(ContextConformance, CTX_02_AScopeMakesTheStrategyCurrent) {
  testing::asserts("SEM-16", "SEM-17");
  {
    const Scope scope = strategy_.scope();
    expect_in_scope_of(strategy_);
  }
  expect_default_state();
}

TEST_F(ContextConformance, CTX_03_AReplicaIsCurrentInsideARun) {
  testing::asserts("SEM-16");
  strategy_.run([this](ReplicaContext& replica) {
    EXPECT_EQ(current_replica(), &replica);
    EXPECT_EQ(current_cross_replica(), nullptr);
    EXPECT_TRUE(has_strategy());
    EXPECT_EQ(&current_strategy(), &strategy_);
  });
}

TEST_F(ContextConformance, CTX_06_ScopesOfOneStrategyNest) {
  testing::asserts("SEM-17");
  {
    const Scope first = strategy_.scope();
    expect_in_scope_of(strategy_);
    {
      const Scope second = strategy_.scope();
      expect_in_scope_of(strategy_);
      const Scope third = strategy_.scope();
      expect_in_scope_of(strategy_);
    }
    expect_in_scope_of(strategy_);
  }
  expect_default_state();
  const Scope again = strategy_.scope();
  expect_in_scope_of(strategy_);
}

TEST_F(ContextConformance, CTX_07_StrategiesDoNotMix) {
  testing::asserts("SEM-17");
  const Scope scope = strategy_.scope();
  EXPECT_EQ(code_of([&] { const Scope inner = other_.scope(); }), ErrorCode::kOtherStrategy);
  expect_in_scope_of(strategy_);
}

template <class S>
concept CanBeSet = requires(S& strategy) { set_strategy(strategy); };

// Overridden: no function sets a strategy. Scopes make a strategy current, and a scope of the
// current strategy may be entered again.
TEST_F(ContextConformance, CTX_09_NothingSetsTheCurrentStrategy) {
  static_assert(!CanBeSet<Strategy>);
  {
    const Scope scope = strategy_.scope();
    EXPECT_EQ(code_of([&] { const Scope inner = other_.scope(); }), ErrorCode::kOtherStrategy);
    {
      const Scope same = strategy_.scope();
    }
    expect_in_scope_of(strategy_);
  }
  expect_default_state();
}

TEST_F(ContextConformance, CTX_10_TheDefaultReplicaMerges) {
  const auto merge = [](CrossReplicaContext& cross, const PerReplica<std::string>& text) {
    EXPECT_EQ(current_replica(), nullptr);
    EXPECT_EQ(current_cross_replica(), &cross);
    EXPECT_EQ(&cross.strategy(), &current_strategy());
    EXPECT_FALSE(has_strategy());
    return "foo_" + text[0];
  };
  EXPECT_EQ(current_replica()->merge_call(merge, std::string("bar")), "foo_bar");
  expect_default_state();
}

// Overridden: a single replica obeys the rules of many (SEM-15), and the default strategy's scope
// is a scope like any other.
TEST_F(ContextConformance, CTX_11_TheDefaultStrategysScopeNestsInItself) {
  Strategy& fallback = current_strategy();
  const Scope first = fallback.scope();
  expect_in_scope_of_default(fallback);
  const Scope second = fallback.scope();
  expect_in_scope_of_default(fallback);
}

TEST_F(ContextConformance, CTX_12_NoScopeInsideTheDefaultStrategys) {
  const auto make = [this] {
    const Scope scope = strategy_.scope();
    return strategy_.variable(1.0F);
  };
  make();
  {
    Strategy& fallback = current_strategy();
    const Scope outer = fallback.scope();
    EXPECT_EQ(code_of(make), ErrorCode::kOtherStrategy);
    expect_in_scope_of_default(fallback);
  }
  make();
}

TEST_F(ContextConformance, CTX_13_NoDefaultScopeInsideAnothers) {
  Strategy& fallback = current_strategy();
  const Scope scope = strategy_.scope();
  EXPECT_EQ(code_of([&] { const Scope inner = fallback.scope(); }), ErrorCode::kOtherStrategy);
}

const char* const kEndsTooEarly = "a scope ends while one that was opened inside it is open";

// Ends a scope of the strategy before the scope that `open` opens inside.
template <class F>
void end_before(Strategy& strategy, const F& open) {
  CrossReplicaContext& cross = strategy.cross_replica();
  std::optional<Scope> outer(std::in_place, cross.core(), cross, CallSite::here());
  const VariableScope inner = open();
  outer.reset();
}

// Overridden: scopes are objects, and a destructor cannot throw. Only updates make devices current,
// with scopes that users do not hold: a colocation scope stands for CTX-14.
TEST_F(ContextConformance, CTX_14_AScopeThatEndsBeforeADeviceScopeEndsTheProgram) {
  testing::asserts("SEM-17");
  EXPECT_DEATH(
      end_before(strategy_,
                 [this] { return strategy_.colocate_variables_with(strategy_.worker_devices()); }),
      kEndsTooEarly);
}

// Overridden: as above.
TEST_F(ContextConformance, CTX_15_AScopeThatEndsBeforeACreatorScopeEndsTheProgram) {
  EXPECT_DEATH(
      end_before(strategy_,
                 [this] { return strategy_.variable_creator_scope([](VariableOptions&) {}); }),
      kEndsTooEarly);
}

// Overridden: as above.
TEST_F(ContextConformance, CTX_16_AScopeThatEndsBeforeAVariableScopeEndsTheProgram) {
  EXPECT_DEATH(
      end_before(strategy_,
                 [this] { return strategy_.replica_local_variable_scope(ReduceOp::kSum); }),
      kEndsTooEarly);
}

// Calls `check` outside all scopes and in the default strategy's scope. In the scope of a different
// strategy the call is refused.
template <class F>
void expect_refused_elsewhere(Strategy& elsewhere, F&& check) {
  check();
  {
    const Scope scope = current_strategy().scope();
    check();
  }
  const Scope scope = elsewhere.scope();
  EXPECT_EQ(code_of(check), ErrorCode::kOtherStrategy);
}

TEST_F(ContextConformance, CTX_17_TheDefaultStrategyReduces) {
  CrossReplicaContext& cross = current_strategy().cross_replica();
  expect_refused_elsewhere(strategy_, [&] {
    const Mirrored<double> mean = cross.reduce(ReduceOp::kMean, PerReplica<double>{1.0});
    EXPECT_EQ(mean.value(), 1.0);
  });
}

TEST_F(ContextConformance, CTX_18_TheDefaultStrategyReducesToADevice) {
  CrossReplicaContext& cross = current_strategy().cross_replica();
  expect_refused_elsewhere(strategy_, [&] {
    const MirroredOn<double> mean =
        cross.reduce(ReduceOp::kMean, PerReplica<double>{1.0}, "/cpu:0");
    EXPECT_EQ(mean.value(), 1.0);
    EXPECT_EQ(mean.devices().size(), 1U);
  });
}

TEST_F(ContextConformance, CTX_19_TheDefaultStrategyReducesBatches) {
  CrossReplicaContext& cross = current_strategy().cross_replica();
  const std::vector<DeviceSpec> own = cross.devices();
  expect_refused_elsewhere(strategy_, [&] {
    const PerReplica<double> one{1.0};
    const auto [a, b] =
        cross.batch_reduce(ReduceOp::kMean, std::pair{one, "/cpu:0"}, std::pair{one, own});
    for (const MirroredOn<double>& mean : {a, b}) {
      EXPECT_EQ(mean.value(), 1.0);
      EXPECT_EQ(mean.devices(), own);
    }
  });
}

// Overridden: fn sees t itself, and a copy of v's component. The copy becomes the component if the
// update succeeds (SEM-42).
TEST_F(ContextConformance, CTX_20_TheDefaultStrategyUpdates) {
  Strategy& fallback = current_strategy();
  const auto variable = fallback.mirrored_variable(2.0);
  const double* const component = &variable.on(*current_replica());
  const std::string given = "t";
  int calls = 0;
  expect_refused_elsewhere(strategy_, [&] {
    fallback.cross_replica().update(
        variable,
        [&](double& own, const std::string& seen) {
          EXPECT_NE(&own, component);
          EXPECT_EQ(*component, 2.0 + calls);
          EXPECT_EQ(own, *component);
          EXPECT_EQ(&seen, &given);
          own += 1;
          ++calls;
        },
        given);
    EXPECT_EQ(*component, 2.0 + calls);
  });
  EXPECT_EQ(calls, 2);
}

TEST_F(ContextConformance, CTX_21_TheDefaultStrategyUpdatesWhatIsNoSlot) {
  Strategy& fallback = current_strategy();
  int calls = 0;
  int wanted = 0;
  expect_refused_elsewhere(strategy_, [&] {
    fallback.cross_replica().update_non_slot(fallback.non_slot_devices(), [&] { ++calls; });
    EXPECT_EQ(calls, ++wanted);
  });
  EXPECT_EQ(calls, 2);
}

TEST_F(ContextConformance, CTX_24_CreatorsSeeWhatWasAskedFor) {
  std::vector<VariableOptions> seen;
  const auto note = [&](VariableOptions& options) { seen.push_back(options); };
  {
    const VariableScope scope = strategy_.variable_creator_scope(note);
    strategy_.variable(1.0F, {.name = "outside"});
    strategy_.run([&](ReplicaContext&) { current_strategy().variable(1.0F, {.name = "inside"}); });
  }
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].name, "outside");
  EXPECT_EQ(seen[1].name, "inside");
  for (const VariableOptions& options : seen) {
    EXPECT_EQ(options.synchronization, Synchronization::kAuto);
    EXPECT_EQ(options.aggregation, Aggregation::kNone);
  }
}

TEST_F(ContextConformance, CTX_25_CreatorsSeeSynchronizationAndAggregation) {
  std::vector<VariableOptions> seen;
  const VariableScope scope =
      strategy_.variable_creator_scope([&](VariableOptions& options) { seen.push_back(options); });
  strategy_.variable(
      1.0F, {.aggregation = Aggregation::kMean, .synchronization = Synchronization::kOnWrite});
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].synchronization, Synchronization::kOnWrite);
  EXPECT_EQ(seen[0].aggregation, Aggregation::kMean);
}

TEST_F(ContextConformance, CTX_26_TheDefaultStrategyRunsWhatItIsGiven) {
  const auto identity = [](ReplicaContext&, int value) { return value; };
  EXPECT_EQ(current_strategy().run(identity, 7), PerReplica<int>{7});
  EXPECT_EQ(current_strategy().run(identity, 7), PerReplica<int>{7});
}

TEST_F(ContextConformanceOfTwo, CTX_30_ReplicasMustMergeForCrossReplicaWork) {
  const auto variable = strategy_.mirrored_variable(1.0F);
  CrossReplicaContext& cross = strategy_.cross_replica();
  const auto refused = [this](auto&& call) {
    try {
      strategy_.run([&](ReplicaContext&) { call(); });
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kWrongContext);
      EXPECT_THAT(error.what(),
                  ::testing::HasSubstr("do it in the function you pass to merge_call"));
    }
  };
  refused([&] { cross.reduce(ReduceOp::kSum, PerReplica<float>{1.0F, 2.0F}); });
  refused([&] { cross.broadcast(1.0F); });
  refused([&] { cross.update(variable, [](float& component) { component = 2.0F; }); });
  refused([&] { strategy_.run([](ReplicaContext&) {}); });
  refused([&] { const Scope scope = strategy_.scope(); });
  EXPECT_EQ(strategy_.read(variable), 1.0F);
}

// Overridden: a replica's number is a plain value that the context object always knows.
TEST_F(ContextConformanceOfTwo, CTX_31_NoMergeThroughAReplicaThatWaits) {
  EXPECT_EQ(code_of([&] {
              strategy_.run([](ReplicaContext& replica) {
                replica.merge_call(
                    [&](CrossReplicaContext&) { replica.merge_call([](CrossReplicaContext&) {}); });
              });
            }),
            ErrorCode::kMergeNested);
}

TEST_F(ContextConformanceOfTwo, CTX_32_NoMergeThroughAnotherReplicasContext) {
  std::vector<ReplicaContext*> contexts(2);
  EXPECT_EQ(code_of([&] {
              strategy_.run([&](ReplicaContext& replica) {
                contexts[static_cast<std::size_t>(replica.replica_id())] = &replica;
                replica.merge_call([](CrossReplicaContext&) {});
                contexts[0]->merge_call([](CrossReplicaContext&) {});
              });
            }),
            ErrorCode::kMergeNested);
}

TEST_F(ContextConformanceOfTwo, WhatNamesNoDeviceIsOnTheFirst) {
  Backend& backend = bench_.backend();
  const DeviceSpec first = backend.device_spec(1);
  MirroredStrategy strategy(backend, {.devices = {first, backend.device_spec(0)}});
  const Scope scope = strategy.scope();
  EXPECT_EQ(current_device(), first);
  EXPECT_EQ(Tensor<float>::zeros({1}).placement(), strategy.placement(0));
  EXPECT_EQ(backend.device_spec(strategy.placement(0).device), first);
  const Placement named = strategy.placement(1);
  EXPECT_EQ(Tensor<float>::full({1}, 0, named).placement(), named);
}

TEST_F(ContextConformance, CTX_33_AThreadBeginsOutside) {
  testing::asserts("SEM-16");
  const Scope scope = strategy_.scope();
  std::thread([] { expect_default_state(); }).join();
  expect_in_scope_of(strategy_);
}

}  // namespace
}  // namespace belfry::testing::conformance_contexts
