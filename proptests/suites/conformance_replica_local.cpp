// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What the reference systems do with replica-local variables. TLV-21 and TLV-30 are about
// a verb that belfry does not have, adding to a sum from outside; TLV-27 is in
// conformance_scatter.cpp.
#include "belfry/checkpoint.h"
#include "suites/variable_stage.h"

#include <cstring>

namespace belfry::testing {
namespace {

constexpr Aggregation kReadable[] = {Aggregation::kSum, Aggregation::kMean,
                                     Aggregation::kOnlyFirst};

ReplicaLocalVariable<float> local(VariableStage& stage, Aggregation aggregation, float first) {
  return stage.strategy.replica_local_variable(aggregation, first, {.name = "v"});
}

// Replica i writes `values[i]`.
void write(VariableStage& stage, const ReplicaLocalVariable<float>& v, const Reals& values) {
  stage.strategy.run([&](ReplicaContext& replica) {
    v.on(replica) = values[static_cast<std::size_t>(replica.replica_id())];
  });
}

float saved_value(VariableStage& stage, const ReplicaLocalVariable<float>& v) {
  const TensorFile file = Checkpoint(stage.strategy).add(v).contents();
  float value = 0;
  std::memcpy(&value, file.tensors.at("v").bytes.data(), sizeof value);
  return value;
}

TEST(Conformance, TLV_01_ComponentsOfTheirOwn) {
  for (int replicas : {1, 2, 4}) {
    VariableStage stage(replicas);
    const auto sum = local(stage, Aggregation::kSum, 1);
    const auto mean = local(stage, Aggregation::kMean, 4);
    stage.strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<float>(replica.replica_id());
      replica.assign_add(sum, 2 + id);
      replica.assign(mean, 6 * id);
    });
    float total = 0;
    float six = 0;
    for (int id = 0; id < replicas; ++id) {
      const auto index = static_cast<std::size_t>(id);
      EXPECT_EQ(stage.components(sum)[index], static_cast<float>(id + 3));
      EXPECT_EQ(stage.components(mean)[index], static_cast<float>(6 * id));
      total += static_cast<float>(id + 3);
      six += static_cast<float>(6 * id);
    }
    EXPECT_EQ(stage.strategy.read(sum), total);
    EXPECT_EQ(stage.strategy.read(mean), six / static_cast<float>(replicas));
  }
}

TEST(Conformance, TLV_02_OneVariableForAllReplicas) {
  VariableStage stage;
  auto v = local(stage, Aggregation::kSum, 1);
  const auto returned = stage.strategy.run([&](ReplicaContext&) { return v; });
  EXPECT_TRUE(returned == v);
  const auto addresses = stage.run([&](ReplicaContext& replica, int) { return &v.on(replica); });
  EXPECT_NE(addresses[0], addresses[1]);
}

TEST(Conformance, TLV_03_UpdateSetsEveryComponent) {
  VariableStage stage;
  const auto v = local(stage, Aggregation::kSum, 1);
  EXPECT_EQ(stage.strategy.read(v), 2.0F);
  stage.cross().update(v, [](float& component) { component = 5; });
  EXPECT_EQ(stage.components(v), Reals({5, 5}));
  EXPECT_EQ(stage.strategy.read(v), 10.0F);
}

TEST(Conformance, TLV_05_CrossReplicaAssignmentOfAMean) {
  VariableStage stage;
  const auto v = local(stage, Aggregation::kMean, 1);
  EXPECT_EQ(stage.strategy.read(v), 1.0F);
  stage.cross().assign_each(v, 6.0F);
  EXPECT_EQ(stage.strategy.read(v), 6.0F);
}

TEST(Conformance, TLV_06_OnlyTheFirstIsRead) {
  VariableStage stage;
  const auto v = local(stage, Aggregation::kOnlyFirst, 2);
  const auto add = [&](float by) {
    stage.strategy.run([&](ReplicaContext& replica) {
      replica.assign_add(v, by * static_cast<float>(replica.replica_id() + 1));
    });
  };
  add(5);
  EXPECT_EQ(stage.components(v), Reals({7, 12}));
  EXPECT_EQ(stage.strategy.read(v), 7.0F);
  add(11);
  EXPECT_EQ(stage.components(v), Reals({18, 34}));
  EXPECT_EQ(stage.strategy.read(v), 18.0F);
}

TEST(Conformance, TLV_08_TLV_09_SaveAndRestoreAMean) {
  VariableStage stage;
  const auto v = local(stage, Aggregation::kMean, 0);
  write(stage, v, {3, 4});
  EXPECT_EQ(saved_value(stage, v), 3.5F);
  Checkpoint checkpoint(stage.strategy);
  const TensorFile file = checkpoint.add(v).contents();
  write(stage, v, {5, 6});
  checkpoint.restore(file);
  EXPECT_EQ(stage.components(v), Reals({3.5F, 3.5F}));
  const auto fresh = local(stage, Aggregation::kMean, 7);
  write(stage, fresh, {7, 8});
  Checkpoint(stage.strategy).add(fresh).restore(file);
  EXPECT_EQ(stage.components(fresh), Reals({3.5F, 3.5F}));
}

// With the reference's policy; by default component 0 gets the whole sum.
TEST(Conformance, TLV_14_SaveAndRestore) {
  VariableStage stage;
  const RestoreOptions divide{.sums = SumSplit::kDivide, .site = CallSite::here()};
  for (Aggregation aggregation : {Aggregation::kSum, Aggregation::kMean}) {
    const bool sums = aggregation == Aggregation::kSum;
    const auto v = local(stage, aggregation, 0);
    write(stage, v, {4, 3});
    EXPECT_EQ(saved_value(stage, v), sums ? 7.0F : 3.5F);
    Checkpoint checkpoint(stage.strategy);
    const TensorFile file = checkpoint.add(v).contents();
    checkpoint.restore(file, divide);
    EXPECT_EQ(stage.components(v)[0], 3.5F);
    checkpoint.restore(file);
    EXPECT_EQ(stage.components(v), sums ? Reals({7, 0}) : Reals({3.5F, 3.5F}));
  }
}

TEST(Conformance, TLV_15_TLV_16_BetweenOneReplicaAndTwo) {
  const RestoreOptions divide{.sums = SumSplit::kDivide, .site = CallSite::here()};
  for (Aggregation aggregation : {Aggregation::kSum, Aggregation::kMean}) {
    const bool sums = aggregation == Aggregation::kSum;
    VariableStage two(2);
    VariableStage one(1);
    const auto pair = local(two, aggregation, 0);
    const auto plain = local(one, aggregation, 2);
    const TensorFile plain_file = Checkpoint(one.strategy).add(plain).contents();
    write(two, pair, {4, 3});
    Checkpoint(one.strategy).add(plain).restore(Checkpoint(two.strategy).add(pair).contents());
    EXPECT_EQ(one.strategy.read(plain), sums ? 7.0F : 3.5F);
    Checkpoint(two.strategy).add(pair).restore(plain_file, divide);
    EXPECT_EQ(two.components(pair)[0], sums ? 1.0F : 2.0F);
    EXPECT_EQ(two.strategy.read(pair), 2.0F);
  }
}

// Overridden (TLV-17, TLV-22): one without an aggregation cannot be made (TLV-25), so that there
// are three.
TEST(Conformance, TLV_17_TLV_22_TLV_24_InReplicas) {
  VariableStage stage;
  for (Aggregation aggregation : kReadable) {
    const auto set = local(stage, aggregation, 0);
    const auto added = local(stage, aggregation, 0);
    const auto subtracted = local(stage, aggregation, 0);
    stage.strategy.run([&](ReplicaContext& replica) {
      replica.assign(set, 1.0F);
      replica.assign_add(added, 1.0F);
      replica.assign_sub(subtracted, -1.0F);
    });
    for (const auto& v : {set, added, subtracted}) EXPECT_EQ(stage.components(v), Reals({1, 1}));
    EXPECT_EQ(stage.run([&](ReplicaContext& replica, int id) {
      replica.assign(set, static_cast<float>(id));
      return set.on(replica);
    }),
              Reals({0, 1}));
  }
}

TEST(Conformance, TLV_18_AssignEachInCrossReplicaContext) {
  VariableStage stage;
  for (Aggregation aggregation : {Aggregation::kMean, Aggregation::kOnlyFirst}) {
    const auto v = local(stage, aggregation, 0);
    stage.cross().assign_each(v, 1.0F);
    EXPECT_EQ(stage.components(v), Reals({1, 1}));
  }
}

// The reference divides; by default component 0 gets the whole total.
TEST(Conformance, TLV_20_AssignTotalInCrossReplicaContext) {
  for (int replicas : {1, 2, 3}) {
    VariableStage stage(replicas);
    const auto size = static_cast<std::size_t>(replicas);
    const auto total = static_cast<float>(replicas);
    const auto v = local(stage, Aggregation::kSum, 0);
    stage.cross().assign_total(v, total, SumSplit::kDivide);
    EXPECT_EQ(stage.components(v), Reals(size, 1));
    stage.cross().assign_total(v, total);
    Reals first(size);
    first[0] = total;
    EXPECT_EQ(stage.components(v), first);
    EXPECT_EQ(stage.strategy.read(v), total);
  }
}

TEST(Conformance, TLV_23_ReadingReduces) {
  for (int n : {1, 2, 3, 4}) {
    VariableStage stage(n);
    const auto read = [&](Aggregation aggregation) {
      const auto v = local(stage, aggregation, 0);
      stage.strategy.run([&](ReplicaContext& replica) {
        replica.assign(v, static_cast<float>(replica.replica_id()));
      });
      return stage.strategy.read(v);
    };
    const auto count = static_cast<float>(n);
    EXPECT_EQ(read(Aggregation::kSum), count * (count - 1) / 2);
    EXPECT_EQ(read(Aggregation::kMean), (count - 1) / 2);
    EXPECT_EQ(read(Aggregation::kOnlyFirst), 0.0F);
  }
}

// Overridden: one that could never be read is refused when it is made.
TEST(Conformance, TLV_25_WithoutAnAggregation) {
  VariableStage stage;
  EXPECT_EQ(error_of([&] { local(stage, Aggregation::kNone, 1); }), ErrorCode::kNoAggregation);
}

// Overridden (TLV-29): no context makes replicas read the sum; it is read in cross-replica context.
TEST(Conformance, TLV_26_TLV_29_Operators) {
  VariableStage stage;
  const auto mean = local(stage, Aggregation::kMean, 0);
  write(stage, mean, {0, 1});
  EXPECT_EQ(stage.strategy.read(mean) + 1, 1.5F);
  EXPECT_EQ(stage.run([&](ReplicaContext& replica, int) { return mean.on(replica) + 1; }),
            Reals({1, 2}));
  const auto sum = local(stage, Aggregation::kSum, 1);
  EXPECT_EQ(stage.run([&](ReplicaContext& replica, int) { return sum.on(replica) + 10; }),
            Reals({11, 11}));
  EXPECT_EQ(stage.strategy.read(sum) + 10, 12.0F);
}

// Overridden: no remainder is lost (the reference restores [3, 3]).
TEST(Conformance, TLV_31_IntegersKeepTheirRemainder) {
  VariableStage stage;
  const auto v = stage.strategy.replica_local_variable(ReduceOp::kSum, 0, {.name = "v"});
  stage.strategy.run([&](ReplicaContext& replica) { v.on(replica) = 3 + replica.replica_id(); });
  Checkpoint checkpoint(stage.strategy);
  const TensorFile file = checkpoint.add(v).contents();
  checkpoint.restore(file, {.sums = SumSplit::kDivide, .site = CallSite::here()});
  EXPECT_EQ(stage.components(v), Integers({4, 3}));
  checkpoint.restore(file);
  EXPECT_EQ(stage.components(v), Integers({7, 0}));
}

}  // namespace
}  // namespace belfry::testing
