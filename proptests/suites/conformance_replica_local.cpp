// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What the reference systems do with replica-local variables. TLV-21 and TLV-30 are about
// a verb that belfry does not have, adding to a sum from outside; TLV-27 is in
// conformance_scatter.cpp.
#include "belfry/checkpoint.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/residence.h"
#include "suites/variable_stage.h"

#include <cstring>
#include <utility>

namespace belfry::testing::conformance_replica_local {
namespace {

constexpr Aggregation kReadable[] = {Aggregation::kSum, Aggregation::kMean,
                                     Aggregation::kOnlyFirst};

template <class Where>
class LocalRows : public NumericRows<Where, VariableStage> {
 protected:
  using Number = decltype(Where::number(0.0F));
  using Local = ReplicaLocalVariable<Number>;

  static Local local(VariableStage& stage, Aggregation aggregation, float first) {
    return stage.strategy.replica_local_variable(
        aggregation, [first] { return Where::number(first); }, {.name = "v"});
  }
  // Replica i writes `values[i]`.
  static void write(VariableStage& stage, const Local& v, const Reals& values) {
    stage.strategy.run([&](ReplicaContext& replica) {
      v.on(replica) = Where::number(values[static_cast<std::size_t>(replica.replica_id())]);
    });
  }
  static float read(VariableStage& stage, const Local& v) {
    return Where::value(stage.strategy.read(v));
  }
  static Reals components(VariableStage& stage, const Local& v) {
    Reals values;
    for (const Number& one : stage.components(v)) values.push_back(Where::value(one));
    return values;
  }
  static float saved_value(VariableStage& stage, const Local& v) {
    const TensorFile file = Checkpoint(stage.strategy).add(v).contents();
    float value = 0;
    std::memcpy(&value, file.tensors.at("v").bytes.data(), sizeof value);
    return value;
  }
};
TYPED_TEST_SUITE(LocalRows, Residences, ResidenceNames);

TYPED_TEST(LocalRows, TLV_01_ComponentsOfTheirOwn) {
  for (int replicas : {1, 2, 4}) {
    VariableStage& stage = this->stage(replicas);
    const auto sum = this->local(stage, Aggregation::kSum, 1);
    const auto mean = this->local(stage, Aggregation::kMean, 4);
    stage.strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<float>(replica.replica_id());
      replica.assign_add(sum, TypeParam::number(2 + id));
      replica.assign(mean, TypeParam::number(6 * id));
    });
    float total = 0;
    float six = 0;
    for (int id = 0; id < replicas; ++id) {
      const auto index = static_cast<std::size_t>(id);
      EXPECT_EQ(this->components(stage, sum)[index], static_cast<float>(id + 3));
      EXPECT_EQ(this->components(stage, mean)[index], static_cast<float>(6 * id));
      total += static_cast<float>(id + 3);
      six += static_cast<float>(6 * id);
    }
    EXPECT_EQ(this->read(stage, sum), total);
    EXPECT_EQ(this->read(stage, mean), six / static_cast<float>(replicas));
  }
}

TYPED_TEST(LocalRows, TLV_02_OneVariableForAllReplicas) {
  VariableStage& stage = this->stage();
  auto v = this->local(stage, Aggregation::kSum, 1);
  const auto seen = stage.run([&](ReplicaContext& replica, int) { return &v.on(replica); });
  EXPECT_NE(seen[0], seen[1]);
  const auto returned = stage.strategy.run([&](ReplicaContext&) { return v; });
  EXPECT_TRUE(returned == v);
  // They share no storage either.
  stage.strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 1) v.on(replica) = v.on(replica) + 4.0F;
  });
  EXPECT_EQ(this->components(stage, v), Reals({1, 5}));
  EXPECT_EQ(this->components(stage, returned), Reals({1, 5}));
}

TYPED_TEST(LocalRows, TLV_03_UpdateSetsEveryComponent) {
  VariableStage& stage = this->stage();
  const auto v = this->local(stage, Aggregation::kSum, 1);
  EXPECT_EQ(this->read(stage, v), 2.0F);
  using Number = decltype(TypeParam::number(0.0F));
  stage.cross().update(v, [](Number& component) { component = TypeParam::number(5.0F); });
  EXPECT_EQ(this->components(stage, v), Reals({5, 5}));
  EXPECT_EQ(this->read(stage, v), 10.0F);
}

TYPED_TEST(LocalRows, TLV_05_CrossReplicaAssignmentOfAMean) {
  VariableStage& stage = this->stage();
  const auto v = this->local(stage, Aggregation::kMean, 1);
  EXPECT_EQ(this->read(stage, v), 1.0F);
  const Scope scope = stage.strategy.scope();
  stage.cross().assign_each(v, TypeParam::number(6.0F));
  EXPECT_EQ(this->read(stage, v), 6.0F);
}

TYPED_TEST(LocalRows, TLV_06_OnlyTheFirstIsRead) {
  VariableStage& stage = this->stage();
  const auto v = this->local(stage, Aggregation::kOnlyFirst, 2);
  const auto add = [&](float by) {
    stage.strategy.run([&](ReplicaContext& replica) {
      const auto times = static_cast<float>(replica.replica_id() + 1);
      replica.assign_add(v, TypeParam::number(by * times));
    });
  };
  add(5);
  EXPECT_EQ(this->components(stage, v), Reals({7, 12}));
  EXPECT_EQ(this->read(stage, v), 7.0F);
  add(11);
  EXPECT_EQ(this->components(stage, v), Reals({18, 34}));
  EXPECT_EQ(this->read(stage, v), 18.0F);
}

TYPED_TEST(LocalRows, TLV_08_TLV_09_SaveAndRestoreAMean) {
  VariableStage& stage = this->stage();
  const auto v = this->local(stage, Aggregation::kMean, 0);
  this->write(stage, v, {3, 4});
  EXPECT_EQ(this->saved_value(stage, v), 3.5F);
  Checkpoint checkpoint(stage.strategy);
  const TensorFile file = checkpoint.add(v).contents();
  this->write(stage, v, {5, 6});
  checkpoint.restore(file);
  EXPECT_EQ(this->components(stage, v), Reals({3.5F, 3.5F}));
  const auto fresh = this->local(stage, Aggregation::kMean, 7);
  this->write(stage, fresh, {7, 8});
  Checkpoint(stage.strategy).add(fresh).restore(file);
  EXPECT_EQ(this->components(stage, fresh), Reals({3.5F, 3.5F}));
}

// Overridden: with `kDivide` as in the reference; by default component 0 gets the whole sum
// (SEM-56).
TYPED_TEST(LocalRows, TLV_14_SaveAndRestore) {
  VariableStage& stage = this->stage();
  const RestoreOptions divide{.sums = SumSplit::kDivide, .site = CallSite::here()};
  for (Aggregation aggregation : {Aggregation::kSum, Aggregation::kMean}) {
    const bool sums = aggregation == Aggregation::kSum;
    const auto v = this->local(stage, aggregation, 0);
    this->write(stage, v, {4, 3});
    EXPECT_EQ(this->saved_value(stage, v), sums ? 7.0F : 3.5F);
    Checkpoint checkpoint(stage.strategy);
    const TensorFile file = checkpoint.add(v).contents();
    checkpoint.restore(file, divide);
    EXPECT_EQ(this->components(stage, v)[0], 3.5F);
    checkpoint.restore(file);
    EXPECT_EQ(this->components(stage, v), sums ? Reals({7, 0}) : Reals({3.5F, 3.5F}));
  }
}

// Overridden (TLV-16): with `kDivide` as in the reference; by default component 0 gets the whole
// sum (SEM-56).
TYPED_TEST(LocalRows, TLV_15_TLV_16_BetweenOneReplicaAndTwo) {
  const RestoreOptions divide{.sums = SumSplit::kDivide, .site = CallSite::here()};
  for (Aggregation aggregation : {Aggregation::kSum, Aggregation::kMean}) {
    const bool sums = aggregation == Aggregation::kSum;
    VariableStage& two = this->stage(2);
    VariableStage& one = this->stage(1);
    const auto pair = this->local(two, aggregation, 0);
    const auto plain = this->local(one, aggregation, 2);
    const TensorFile plain_file = Checkpoint(one.strategy).add(plain).contents();
    this->write(two, pair, {4, 3});
    Checkpoint(one.strategy).add(plain).restore(Checkpoint(two.strategy).add(pair).contents());
    EXPECT_EQ(this->read(one, plain), sums ? 7.0F : 3.5F);
    Checkpoint(two.strategy).add(pair).restore(plain_file, divide);
    EXPECT_EQ(this->components(two, pair)[0], sums ? 1.0F : 2.0F);
    EXPECT_EQ(this->read(two, pair), 2.0F);
    Checkpoint(two.strategy).add(pair).restore(plain_file);
    EXPECT_EQ(this->components(two, pair), sums ? Reals({2, 0}) : Reals({2, 2}));
  }
}

// Overridden (TLV-17, TLV-22): one without an aggregation cannot be made (TLV-25), so that there
// are three.
TYPED_TEST(LocalRows, TLV_17_TLV_22_TLV_24_InReplicas) {
  VariableStage& stage = this->stage();
  for (Aggregation aggregation : kReadable) {
    const auto set = this->local(stage, aggregation, 0);
    const auto added = this->local(stage, aggregation, 0);
    const auto subtracted = this->local(stage, aggregation, 0);
    stage.strategy.run([&](ReplicaContext& replica) {
      replica.assign(set, TypeParam::number(1.0F));
      replica.assign_add(added, TypeParam::number(1.0F));
      replica.assign_sub(subtracted, TypeParam::number(-1.0F));
    });
    for (const auto& v : {set, added, subtracted})
      EXPECT_EQ(this->components(stage, v), Reals({1, 1}));
    EXPECT_EQ(stage.run([&](ReplicaContext& replica, int id) {
      replica.assign(set, TypeParam::number(static_cast<float>(id)));
      return TypeParam::value(set.on(replica));
    }),
              Reals({0, 1}));
  }
}

TYPED_TEST(LocalRows, TLV_18_AssignEachInCrossReplicaContext) {
  testing::asserts("SEM-57");
  VariableStage& stage = this->stage();
  for (Aggregation aggregation : {Aggregation::kMean, Aggregation::kOnlyFirst}) {
    const auto v = this->local(stage, aggregation, 0);
    const Scope scope = stage.strategy.scope();
    stage.cross().assign_each(v, TypeParam::number(1.0F));
    EXPECT_EQ(this->components(stage, v), Reals({1, 1}));
    EXPECT_EQ(this->read(stage, v), 1.0F);
  }
}

// Overridden: with `kDivide` as in the reference; by default component 0 gets the whole total
// (SEM-57).
TYPED_TEST(LocalRows, TLV_20_AssignTotalInCrossReplicaContext) {
  testing::asserts("SEM-57");
  for (int replicas : {1, 2, 3}) {
    VariableStage& stage = this->stage(replicas);
    const auto size = static_cast<std::size_t>(replicas);
    const auto total = static_cast<float>(replicas);
    const auto v = this->local(stage, Aggregation::kSum, 0);
    const Scope scope = stage.strategy.scope();
    stage.cross().assign_total(v, TypeParam::number(total), SumSplit::kDivide);
    EXPECT_EQ(this->components(stage, v), Reals(size, 1));
    stage.cross().assign_total(v, TypeParam::number(total));
    Reals first(size);
    first[0] = total;
    EXPECT_EQ(this->components(stage, v), first);
    EXPECT_EQ(this->read(stage, v), total);
  }
}

TYPED_TEST(LocalRows, TLV_23_ReadingReduces) {
  for (int n : {1, 2, 3, 4}) {
    VariableStage& stage = this->stage(n);
    const auto read = [&](Aggregation aggregation) {
      const auto v = this->local(stage, aggregation, 0);
      stage.strategy.run([&](ReplicaContext& replica) {
        replica.assign(v, TypeParam::number(static_cast<float>(replica.replica_id())));
      });
      return this->read(stage, v);
    };
    const auto count = static_cast<float>(n);
    EXPECT_EQ(read(Aggregation::kSum), count * (count - 1) / 2);
    EXPECT_EQ(read(Aggregation::kMean), (count - 1) / 2);
    EXPECT_EQ(read(Aggregation::kOnlyFirst), 0.0F);
  }
}

// Overridden: one that could never be read is refused when it is made.
TEST(Conformance, TLV_25_WithoutAnAggregation) {
  testing::asserts("SEM-51");
  VariableStage stage;
  EXPECT_EQ(error_of([&] { stage.strategy.replica_local_variable(Aggregation::kNone, 1.0F); }),
            ErrorCode::kNoAggregation);
}

// Overridden (TLV-29): no context makes replicas read the sum; it is read in cross-replica context.
TYPED_TEST(LocalRows, TLV_26_TLV_29_Operators) {
  VariableStage& stage = this->stage();
  const auto mean = this->local(stage, Aggregation::kMean, 0);
  this->write(stage, mean, {0, 1});
  EXPECT_EQ(this->read(stage, mean) + 1, 1.5F);
  EXPECT_EQ(stage.run([&](ReplicaContext& replica, int) {
    return TypeParam::value(mean.on(replica) + 1.0F);
  }),
            Reals({1, 2}));
  const auto sum = this->local(stage, Aggregation::kSum, 1);
  EXPECT_EQ(stage.run([&](ReplicaContext& replica, int) {
    return TypeParam::value(sum.on(replica) + 10.0F);
  }),
            Reals({11, 11}));
  EXPECT_EQ(this->read(stage, sum) + 10, 12.0F);
}

// Overridden: no remainder is lost (the reference restores [3, 3]).
TYPED_TEST(LocalRows, TLV_31_IntegersKeepTheirRemainder) {
  VariableStage& stage = this->stage();
  const auto v = stage.strategy.replica_local_variable(
      ReduceOp::kSum, [] { return TypeParam::number(0); }, {.name = "v"});
  const auto components = [&] {
    Integers values;
    for (const auto& one : stage.components(v)) values.push_back(TypeParam::value(one));
    return values;
  };
  stage.strategy.run([&](ReplicaContext& replica) {
    v.on(replica) = TypeParam::number(3 + replica.replica_id());
  });
  EXPECT_EQ(components(), Integers({3, 4}));
  Checkpoint checkpoint(stage.strategy);
  const TensorFile file = checkpoint.add(v).contents();
  checkpoint.restore(file, {.sums = SumSplit::kDivide, .site = CallSite::here()});
  EXPECT_EQ(components(), Integers({4, 3}));
  EXPECT_EQ(TypeParam::value(stage.strategy.read(v)), 7);
  checkpoint.restore(file);
  EXPECT_EQ(components(), Integers({7, 0}));
  EXPECT_EQ(TypeParam::value(stage.strategy.read(v)), 7);
}

}  // namespace
}  // namespace belfry::testing::conformance_replica_local
