// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What the reference systems do with mirrored variables. Rows about scatter operations (MVA-26 to
// MVA-34) are in conformance_scatter.cpp; MVA-45 is about fetching.
#include "belfry/checkpoint.h"
#include "belfry/tensor_ops.h"
#include "suites/variable_stage.h"

namespace belfry::testing {
namespace {

// Overridden (MVA-02): an error in every era; that row lets replicas write their components alone.
TEST(Conformance, MVA_01_MVA_02_AssigningWithoutAnAggregation) {
  VariableStage stage;
  const auto v = stage.strategy.mirrored_variable(1.0F);
  EXPECT_EQ(error_of([&] {
              stage.strategy.run([&](ReplicaContext& replica) { replica.assign(v, 5.0F); });
            }),
            ErrorCode::kNoAggregation);
  EXPECT_EQ(stage.components(v), Reals({1, 1}));
}

// Overridden: what every replica brings is a value of that replica, equal or not.
TEST(Conformance, MVA_03_TheSameLiteralOnEveryReplicaIsSummed) {
  VariableStage stage;
  const auto v = stage.strategy.mirrored_variable(1.0F, {.aggregation = Aggregation::kSum});
  stage.strategy.run([&](ReplicaContext& replica) { replica.assign(v, 5.0F); });
  EXPECT_EQ(stage.components(v), Reals({10, 10}));
}

TEST(Conformance, MVA_04_MVA_10_CrossReplicaAssignments) {
  VariableStage stage;
  const auto v = stage.strategy.mirrored_variable(1.0F);
  const auto returned = stage.cross().update(v, [](float& component) { return component = 6; });
  EXPECT_EQ(returned.value(), 6.0F);
  EXPECT_EQ(stage.strategy.read(v), 6.0F);
  const auto w = stage.strategy.mirrored_variable(5.0F);
  EXPECT_EQ(stage.cross().update(w, [](float& component) { return component -= 2; })[1], 3.0F);
  EXPECT_EQ(stage.components(w), Reals({3, 3}));
}

TEST(Conformance, MVA_06_MVA_09_MVA_12_MeansOfOneLiteral) {
  VariableStage stage;
  const auto make = [&](float first) {
    return stage.strategy.mirrored_variable(first, {.aggregation = Aggregation::kMean});
  };
  const auto set = make(0);
  const auto added = make(1);
  const auto subtracted = make(5);
  stage.strategy.run([&](ReplicaContext& replica) {
    replica.assign(set, 5.0F);
    replica.assign_add(added, 5.0F);
    replica.assign_sub(subtracted, 1.0F);
  });
  EXPECT_EQ(stage.components(set), Reals({5, 5}));
  EXPECT_EQ(stage.components(added), Reals({6, 6}));
  EXPECT_EQ(stage.components(subtracted), Reals({4, 4}));
}

TEST(Conformance, MVA_13_OnlyTheFirstReplicaUpdates) {
  VariableStage stage;
  const auto v = stage.strategy.mirrored_variable(3.0F, {.aggregation = Aggregation::kOnlyFirst});
  const auto add = [&](float by) {
    stage.strategy.run([&](ReplicaContext& replica) {
      replica.assign_add(v, by * static_cast<float>(replica.replica_id() + 1));
    });
    return stage.components(v);
  };
  EXPECT_EQ(add(7), Reals({10, 10}));
  EXPECT_EQ(add(13), Reals({23, 23}));
  EXPECT_EQ(stage.strategy.read(v), 23.0F);
}

TEST(Conformance, MVA_14_AGlobalStep) {
  for (int replicas : {1, 2}) {
    VariableStage stage(replicas);
    const auto step =
        stage.strategy.mirrored_variable(std::int64_t{0}, {.aggregation = Aggregation::kOnlyFirst});
    for (std::int64_t seen : stage.run([&](ReplicaContext& replica, int) {
           replica.assign_add(step, std::int64_t{1});
           return step.on(replica);
         })) {
      EXPECT_EQ(seen, 1);
    }
  }
}

// The three ways to get from 0 to `to`, in cross-replica context.
TEST(Conformance, MVA_15_CrossReplicaUnderEveryAggregation) {
  VariableStage stage;
  for (Aggregation aggregation : all_aggregations()) {
    const auto make = [&] {
      return stage.strategy.mirrored_variable(0.0F, {.aggregation = aggregation});
    };
    const auto set = make();
    const auto added = make();
    const auto subtracted = make();
    stage.assign(set, 1.0F);
    stage.assign_add(added, 1.0F);
    stage.cross().update(subtracted, [](float& component) { component -= -1.0F; });
    for (const auto& v : {set, added, subtracted}) EXPECT_EQ(stage.components(v), Reals({1, 1}));
  }
}

void assign_in_three_ways(VariableStage& stage, Aggregation aggregation, float value,
                          const Reals& wanted) {
  const auto make = [&] {
    return stage.strategy.mirrored_variable(0.0F, {.aggregation = aggregation});
  };
  const auto set = make();
  const auto added = make();
  const auto subtracted = make();
  stage.strategy.run([&](ReplicaContext& replica) {
    replica.assign(set, value);
    replica.assign_add(added, value);
    replica.assign_sub(subtracted, -value);
  });
  for (const auto& v : {set, added, subtracted}) EXPECT_EQ(stage.components(v), wanted);
}

// Overridden (MVA-16): without an aggregation it is an error (MVA-01), so that there are two.
TEST(Conformance, MVA_16_MVA_18_InReplicas) {
  VariableStage stage;
  assign_in_three_ways(stage, Aggregation::kMean, 1, {1, 1});
  assign_in_three_ways(stage, Aggregation::kOnlyFirst, 1, {1, 1});
  assign_in_three_ways(stage, Aggregation::kSum, 2, {4, 4});
  assign_in_three_ways(stage, Aggregation::kMean, 2, {2, 2});
  assign_in_three_ways(stage, Aggregation::kOnlyFirst, 2, {2, 2});
}

// Sets a variable to what another one holds, adds that, or subtracts its negative.
enum class Way : std::uint8_t { kSet, kAdd, kSubtract };
constexpr Way kWays[] = {Way::kSet, Way::kAdd, Way::kSubtract};

void assign_in(ReplicaContext& replica, Way way, const MirroredVariable<float>& v, float value) {
  if (way == Way::kSet) replica.assign(v, value);
  if (way == Way::kAdd) replica.assign_add(v, value);
  if (way == Way::kSubtract) replica.assign_sub(v, value);
}
void assign_in(CrossReplicaContext& cross, Way way, const MirroredVariable<float>& v,
               const MirroredVariable<float>& value) {
  const auto change = [way](float& component, float by) {
    component = way == Way::kSet ? by : way == Way::kAdd ? component + by : component - by;
  };
  cross.update(v, change, value);
}

// Overridden: without an aggregation, assigning in a replica is an error (MVA-01).
TEST(Conformance, MVA_17_FromAnotherMirroredVariable) {
  VariableStage stage;
  const auto two = stage.strategy.mirrored_variable(2.0F);
  const auto minus_two = stage.strategy.mirrored_variable(-2.0F);
  for (Aggregation aggregation :
       {Aggregation::kNone, Aggregation::kMean, Aggregation::kOnlyFirst}) {
    for (Way way : kWays) {
      const auto& value = way == Way::kSubtract ? minus_two : two;
      const auto make = [&] {
        return stage.strategy.mirrored_variable(0.0F, {.aggregation = aggregation});
      };
      const auto outside = make();
      assign_in(stage.cross(), way, outside, value);
      EXPECT_EQ(stage.components(outside), Reals({2, 2}));
      const auto inside = make();
      const auto code = error_of([&] {
        stage.strategy.run(
            [&](ReplicaContext& replica) { assign_in(replica, way, inside, value.on(replica)); });
      });
      const bool refused = aggregation == Aggregation::kNone;
      EXPECT_EQ(code, refused ? ErrorCode::kNoAggregation : ErrorCode::kInternal);
      EXPECT_EQ(stage.components(inside), refused ? Reals({0, 0}) : Reals({2, 2}));
    }
  }
}

TEST(Conformance, MVA_19_MVA_20_MVA_21_ReadingInBothContexts) {
  VariableStage stage;
  const auto added = stage.strategy.mirrored_variable(1.0F, {.aggregation = Aggregation::kMean});
  EXPECT_EQ(stage.run([&](ReplicaContext& replica, int) {
    replica.assign_add(added, 1.0F);
    return added.on(replica);
  }),
            Reals({2, 2}));
  for (Aggregation aggregation : all_aggregations()) {
    const auto v = stage.strategy.mirrored_variable(2.0F, {.aggregation = aggregation});
    EXPECT_EQ(stage.run([&](ReplicaContext& replica, int) { return v.on(replica); }),
              Reals({2, 2}));
    EXPECT_EQ(stage.strategy.read(v), 2.0F);
    EXPECT_EQ(stage.components(v), Reals({2, 2}));
  }
}

TEST(Conformance, MVA_23_OnlyTheFirstReplicasValue) {
  VariableStage stage;
  const auto v = stage.strategy.mirrored_variable(15.0F, {.aggregation = Aggregation::kOnlyFirst});
  EXPECT_EQ(stage.run([&](ReplicaContext& replica, int id) {
    replica.assign(v, static_cast<float>(id));
    return v.on(replica);
  }),
            Reals({0, 0}));
}

TEST(Conformance, MVA_24_Operators) {
  VariableStage stage;
  const auto v = stage.strategy.mirrored_variable(1, {.aggregation = Aggregation::kSum});
  EXPECT_EQ(stage.strategy.read(v) + 1, 2);
  EXPECT_EQ(stage.run([&](ReplicaContext& replica, int) { return v.on(replica) + 1; }),
            Integers({2, 2}));
}

TEST(Conformance, MVA_25_AllReduceOfAMirroredVariableSumsTheReplicas) {
  for (int replicas : {1, 2, 3}) {
    VariableStage stage(replicas);
    const auto v = stage.strategy.mirrored_variable([] { return Tensor<float>::full({1}, 2.0F); },
                                                    {.aggregation = Aggregation::kMean});
    const auto got = stage.run([&](ReplicaContext& replica, int id) {
      return replica.all_reduce(ReduceOp::kSum, v.on(replica)).item() + static_cast<float>(id);
    });
    for (int id = 0; id < replicas; ++id) {
      EXPECT_EQ(got[static_cast<std::size_t>(id)], static_cast<float>(2 * replicas + id));
    }
  }
}

TensorFile saved(VariableStage& stage, const MirroredVariable<float>& variable) {
  return Checkpoint(stage.strategy).add(variable).contents();
}

// Overridden: components cannot start out different (the row saves [3, 4]).
TEST(Conformance, MVA_36_SaveAndRestore) {
  VariableStage stage;
  const TensorFile file = saved(stage, stage.strategy.mirrored_variable(3.0F, {.name = "v"}));
  const auto fresh = stage.strategy.mirrored_variable(7.0F, {.name = "v"});
  Checkpoint(stage.strategy).add(fresh).restore(file);
  EXPECT_EQ(stage.components(fresh), Reals({3, 3}));
}

TEST(Conformance, MVA_38_FromOneReplicaToTwo) {
  VariableStage plain(1);
  VariableStage stage(2);
  const TensorFile file = saved(plain, plain.strategy.mirrored_variable(3.0F, {.name = "v"}));
  const auto fresh = stage.strategy.mirrored_variable(7.0F, {.name = "v"});
  Checkpoint(stage.strategy).add(fresh).restore(file);
  EXPECT_EQ(stage.components(fresh), Reals({3, 3}));
}

TEST(Conformance, MVA_39_UnderEveryAggregation) {
  for (Aggregation aggregation : all_aggregations()) {
    VariableStage plain(1);
    VariableStage stage(2);
    const auto v =
        stage.strategy.mirrored_variable(2.0F, {.name = "v", .aggregation = aggregation});
    const auto one = plain.strategy.mirrored_variable(3.0F, {.name = "v"});
    const TensorFile plain_file = saved(plain, one);
    const TensorFile file = saved(stage, v);
    stage.assign(v, 9.0F);
    Checkpoint(stage.strategy).add(v).restore(file);
    EXPECT_EQ(stage.components(v), Reals({2, 2}));
    Checkpoint(plain.strategy).add(one).restore(file);
    EXPECT_EQ(plain.strategy.read(one), 2.0F);
    Checkpoint(stage.strategy).add(v).restore(plain_file);
    EXPECT_EQ(stage.components(v), Reals({3, 3}));
  }
}

TEST(Conformance, MVA_40_RestoringReadsWhatWasReadBefore) {
  for (int replicas : {1, 2}) {
    for (auto kind : {Synchronization::kOnWrite, Synchronization::kOnRead}) {
      for (auto aggregation : {Aggregation::kMean, Aggregation::kSum, Aggregation::kOnlyFirst}) {
        VariableStage stage(replicas);
        const auto v = stage.strategy.variable(
            [] { return Tensor<float>::from({4}, Reals{1, 2, 3, 4}); },
            {.name = "v", .aggregation = aggregation, .synchronization = kind});
        const Reals before = stage.strategy.read(v).to_host();
        Checkpoint checkpoint(stage.strategy);
        const TensorFile file = checkpoint.add(v).contents();
        stage.cross().update(v, [](Tensor<float>& component) {
          component = Tensor<float>::from({4}, Reals{4, 3, 2, 1});
        });
        EXPECT_NE(stage.strategy.read(v).to_host(), before);
        checkpoint.restore(file);
        EXPECT_EQ(stage.strategy.read(v).to_host(), before);
      }
    }
  }
}

// Overridden: a variable is no leaf of a nest; it is fetched by itself, or what was read of it is.
TEST(Conformance, MVA_45_FetchingAMirroredVariable) {
  VariableStage stage(1);
  const auto v = stage.strategy.mirrored_variable(2.0F);
  EXPECT_EQ(stage.cross().fetch(v), 2.0F);
  const auto nest = stage.cross().broadcast(std::tuple(stage.strategy.read(v), 1));
  EXPECT_EQ(stage.cross().fetch(nest), std::tuple(2.0F, 1));
}

// Overridden: an assignment returns nothing; the variable is read instead.
TEST(Conformance, MVA_42_TheValueAfterAnAssignment) {
  for (int replicas : {1, 2}) {
    VariableStage stage(replicas);
    const auto v = stage.strategy.mirrored_variable([] { return Tensor<float>::zeros({1}); },
                                                    {.aggregation = Aggregation::kMean});
    for (float one : stage.run([&](ReplicaContext& replica, int) {
           replica.assign(v, Tensor<float>::full({1}, 2.0F));
           return add(v.on(replica), 1.0F).item();
         })) {
      EXPECT_EQ(one, 3.0F);
    }
  }
}

TEST(Conformance, MVA_43_MeanOfIntegersIsRefusedWhenTheVariableIsMade) {
  VariableStage stage;
  const VariableOptions mean{.name = "v", .aggregation = Aggregation::kMean};
  EXPECT_EQ(error_of([&] { stage.strategy.mirrored_variable(1, mean); }), ErrorCode::kIntegerMean);
  EXPECT_EQ(error_of([&] {
              stage.strategy.mirrored_variable([] { return Tensor<std::int32_t>::full({2}, 1); },
                                               mean);
            }),
            ErrorCode::kIntegerMean);
  EXPECT_EQ(error_of([&] { stage.strategy.replica_local_variable(ReduceOp::kMean, 1); }),
            ErrorCode::kIntegerMean);
}

// Overridden: no component of its own is read; backends that compare report the difference
// (SEM-11), and these do.
TEST(Conformance, MVA_44_ComponentsThatDifferAreReported) {
  VariableStage stage;
  const auto v = stage.strategy.mirrored_variable([] { return Tensor<float>::full({1}, 3.0F); });
  float next = 3;
  stage.cross().update(
      v, [&](Tensor<float>& component) { component = Tensor<float>::full({1}, next++); });
  ASSERT_TRUE(stage.backend->verifies_mirrored());
  EXPECT_EQ(error_of([&] { stage.strategy.read(v); }), ErrorCode::kMirroredDiverged);
}

}  // namespace
}  // namespace belfry::testing
