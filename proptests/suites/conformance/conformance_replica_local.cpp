// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about replica-local variables. TLV-21 and TLV-30 are about a verb that belfry
// does not have, adding to a sum from outside; TLV-27 is in conformance_scatter.cpp.
#include "belfry/checkpoint.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/residence.h"
#include "suites/variable_fixture.h"

#include <cstring>

namespace belfry::testing::conformance_replica_local {
namespace {

constexpr Aggregation kReadable[] = {Aggregation::kSum, Aggregation::kMean,
                                     Aggregation::kOnlyFirst};

template <class Where>
class LocalRows : public NumericRows<Where, VariableFixture> {
 protected:
  using Number = decltype(Where::number(0.0F));
  using Local = ReplicaLocalVariable<Number>;

  static Local local(VariableFixture& fixture, Aggregation aggregation, float first) {
    return fixture.strategy.replica_local_variable(
        aggregation, [first] { return Where::number(first); }, {.name = "v"});
  }
  // Replica i writes `values[i]`.
  static void write(VariableFixture& fixture, const Local& v, const Reals& values) {
    fixture.strategy.run([&](ReplicaContext& replica) {
      v.on(replica) = Where::number(values[static_cast<std::size_t>(replica.replica_id())]);
    });
  }
  static float read(VariableFixture& fixture, const Local& v) {
    return Where::value(fixture.strategy.read(v));
  }
  static Reals components(VariableFixture& fixture, const Local& v) {
    Reals values;
    for (const Number& one : fixture.components(v)) values.push_back(Where::value(one));
    return values;
  }
  static float saved_value(VariableFixture& fixture, const Local& v) {
    const TensorFile file = Checkpoint(fixture.strategy).add(v).contents();
    float value = 0;
    std::memcpy(&value, file.tensors.at("v").bytes.data(), sizeof value);
    return value;
  }
};

TYPED_TEST_F(LocalRows, TLV_01_ComponentsOfTheirOwn) {
  for (int replicas : {1, 2, 4}) {
    VariableFixture& fixture = this->fixture(replicas);
    const auto sum = this->local(fixture, Aggregation::kSum, 1);
    const auto mean = this->local(fixture, Aggregation::kMean, 4);
    fixture.strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<float>(replica.replica_id());
      replica.assign_add(sum, TypeParam::number(2 + id));
      replica.assign(mean, TypeParam::number(6 * id));
    });
    float total = 0;
    float six = 0;
    for (int id = 0; id < replicas; ++id) {
      const auto index = static_cast<std::size_t>(id);
      EXPECT_EQ(this->components(fixture, sum)[index], static_cast<float>(id + 3));
      EXPECT_EQ(this->components(fixture, mean)[index], static_cast<float>(6 * id));
      total += static_cast<float>(id + 3);
      six += static_cast<float>(6 * id);
    }
    EXPECT_EQ(this->read(fixture, sum), total);
    EXPECT_EQ(this->read(fixture, mean), six / static_cast<float>(replicas));
  }
}

TYPED_TEST_F(LocalRows, TLV_02_OneVariableForAllReplicas) {
  VariableFixture& fixture = this->fixture();
  auto v = this->local(fixture, Aggregation::kSum, 1);
  const auto seen = fixture.run([&](ReplicaContext& replica, int) { return &v.on(replica); });
  EXPECT_NE(seen[0], seen[1]);
  const auto returned = fixture.strategy.run([&](ReplicaContext&) { return v; });
  EXPECT_TRUE(returned == v);
  // The components share no storage either.
  fixture.strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 1) v.on(replica) = v.on(replica) + 4.0F;
  });
  EXPECT_EQ(this->components(fixture, v), Reals({1, 5}));
  EXPECT_EQ(this->components(fixture, returned), Reals({1, 5}));
}

TYPED_TEST_F(LocalRows, TLV_03_UpdateSetsEveryComponent) {
  VariableFixture& fixture = this->fixture();
  const auto v = this->local(fixture, Aggregation::kSum, 1);
  EXPECT_EQ(this->read(fixture, v), 2.0F);
  using Number = decltype(TypeParam::number(0.0F));
  fixture.cross.update(v, [](Number& component) { component = TypeParam::number(5.0F); });
  EXPECT_EQ(this->components(fixture, v), Reals({5, 5}));
  EXPECT_EQ(this->read(fixture, v), 10.0F);
}

TYPED_TEST_F(LocalRows, TLV_05_CrossReplicaAssignmentOfAMean) {
  VariableFixture& fixture = this->fixture();
  const auto v = this->local(fixture, Aggregation::kMean, 1);
  EXPECT_EQ(this->read(fixture, v), 1.0F);
  const Scope scope = fixture.strategy.scope();
  fixture.cross.assign_each(v, TypeParam::number(6.0F));
  EXPECT_EQ(this->read(fixture, v), 6.0F);
}

TYPED_TEST_F(LocalRows, TLV_06_OnlyTheFirstIsRead) {
  VariableFixture& fixture = this->fixture();
  const auto v = this->local(fixture, Aggregation::kOnlyFirst, 2);
  const auto add = [&](float by) {
    fixture.strategy.run([&](ReplicaContext& replica) {
      const auto times = static_cast<float>(replica.replica_id() + 1);
      replica.assign_add(v, TypeParam::number(by * times));
    });
  };
  add(5);
  EXPECT_EQ(this->components(fixture, v), Reals({7, 12}));
  EXPECT_EQ(this->read(fixture, v), 7.0F);
  add(11);
  EXPECT_EQ(this->components(fixture, v), Reals({18, 34}));
  EXPECT_EQ(this->read(fixture, v), 18.0F);
}

TYPED_TEST_F(LocalRows, TLV_08_TLV_09_SaveAndRestoreAMean) {
  VariableFixture& fixture = this->fixture();
  const auto v = this->local(fixture, Aggregation::kMean, 0);
  this->write(fixture, v, {3, 4});
  EXPECT_EQ(this->saved_value(fixture, v), 3.5F);
  Checkpoint checkpoint(fixture.strategy);
  const TensorFile file = checkpoint.add(v).contents();
  this->write(fixture, v, {5, 6});
  checkpoint.restore(file);
  EXPECT_EQ(this->components(fixture, v), Reals({3.5F, 3.5F}));
  const auto fresh = this->local(fixture, Aggregation::kMean, 7);
  this->write(fixture, fresh, {7, 8});
  Checkpoint(fixture.strategy).add(fresh).restore(file);
  EXPECT_EQ(this->components(fixture, fresh), Reals({3.5F, 3.5F}));
}

// Overridden: with `kDivide` as in the reference; by default component 0 gets the whole sum
// (SEM-56).
TYPED_TEST_F(LocalRows, TLV_14_SaveAndRestore) {
  VariableFixture& fixture = this->fixture();
  const RestoreOptions divide{.sums = SumSplit::kDivide, .site = CallSite::here()};
  for (Aggregation aggregation : {Aggregation::kSum, Aggregation::kMean}) {
    const bool sums = aggregation == Aggregation::kSum;
    const auto v = this->local(fixture, aggregation, 0);
    this->write(fixture, v, {4, 3});
    EXPECT_EQ(this->saved_value(fixture, v), sums ? 7.0F : 3.5F);
    Checkpoint checkpoint(fixture.strategy);
    const TensorFile file = checkpoint.add(v).contents();
    checkpoint.restore(file, divide);
    EXPECT_EQ(this->components(fixture, v)[0], 3.5F);
    checkpoint.restore(file);
    EXPECT_EQ(this->components(fixture, v), sums ? Reals({7, 0}) : Reals({3.5F, 3.5F}));
  }
}

// Overridden (TLV-16): with `kDivide` as in the reference; by default component 0 gets the whole
// sum (SEM-56).
TYPED_TEST_F(LocalRows, TLV_15_TLV_16_BetweenOneReplicaAndTwo) {
  const RestoreOptions divide{.sums = SumSplit::kDivide, .site = CallSite::here()};
  for (Aggregation aggregation : {Aggregation::kSum, Aggregation::kMean}) {
    const bool sums = aggregation == Aggregation::kSum;
    VariableFixture& two = this->fixture(2);
    VariableFixture& one = this->fixture(1);
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

// Overridden (TLV-17, TLV-22): a variable without an aggregation cannot be made (TLV-25): three
// aggregations remain.
TYPED_TEST_F(LocalRows, TLV_17_TLV_22_TLV_24_InReplicas) {
  VariableFixture& fixture = this->fixture();
  for (Aggregation aggregation : kReadable) {
    const auto set = this->local(fixture, aggregation, 0);
    const auto added = this->local(fixture, aggregation, 0);
    const auto subtracted = this->local(fixture, aggregation, 0);
    fixture.strategy.run([&](ReplicaContext& replica) {
      replica.assign(set, TypeParam::number(1.0F));
      replica.assign_add(added, TypeParam::number(1.0F));
      replica.assign_sub(subtracted, TypeParam::number(-1.0F));
    });
    for (const auto& v : {set, added, subtracted})
      EXPECT_EQ(this->components(fixture, v), Reals({1, 1}));
    EXPECT_EQ(fixture.run([&](ReplicaContext& replica, int id) {
      replica.assign(set, TypeParam::number(static_cast<float>(id)));
      return TypeParam::value(set.on(replica));
    }),
              Reals({0, 1}));
  }
}

TYPED_TEST_F(LocalRows, TLV_18_AssignEachInCrossReplicaContext) {
  testing::asserts("SEM-57");
  VariableFixture& fixture = this->fixture();
  for (Aggregation aggregation : {Aggregation::kMean, Aggregation::kOnlyFirst}) {
    const auto v = this->local(fixture, aggregation, 0);
    const Scope scope = fixture.strategy.scope();
    fixture.cross.assign_each(v, TypeParam::number(1.0F));
    EXPECT_EQ(this->components(fixture, v), Reals({1, 1}));
    EXPECT_EQ(this->read(fixture, v), 1.0F);
  }
}

// Overridden: with `kDivide` as in the reference; by default component 0 gets the whole total
// (SEM-57).
TYPED_TEST_F(LocalRows, TLV_20_AssignTotalInCrossReplicaContext) {
  testing::asserts("SEM-57");
  for (int replicas : {1, 2, 3}) {
    VariableFixture& fixture = this->fixture(replicas);
    const auto size = static_cast<std::size_t>(replicas);
    const auto total = static_cast<float>(replicas);
    const auto v = this->local(fixture, Aggregation::kSum, 0);
    const Scope scope = fixture.strategy.scope();
    fixture.cross.assign_total(v, TypeParam::number(total), SumSplit::kDivide);
    EXPECT_EQ(this->components(fixture, v), Reals(size, 1));
    fixture.cross.assign_total(v, TypeParam::number(total));
    Reals first(size);
    first[0] = total;
    EXPECT_EQ(this->components(fixture, v), first);
    EXPECT_EQ(this->read(fixture, v), total);
  }
}

TYPED_TEST_F(LocalRows, TLV_23_ReadingReduces) {
  for (int n : {1, 2, 3, 4}) {
    VariableFixture& fixture = this->fixture(n);
    const auto read = [&](Aggregation aggregation) {
      const auto v = this->local(fixture, aggregation, 0);
      fixture.strategy.run([&](ReplicaContext& replica) {
        replica.assign(v, TypeParam::number(static_cast<float>(replica.replica_id())));
      });
      return this->read(fixture, v);
    };
    const auto count = static_cast<float>(n);
    EXPECT_EQ(read(Aggregation::kSum), count * (count - 1) / 2);
    EXPECT_EQ(read(Aggregation::kMean), (count - 1) / 2);
    EXPECT_EQ(read(Aggregation::kOnlyFirst), 0.0F);
  }
}

// Overridden: a variable that could never be read is refused when made.
TEST(Conformance, TLV_25_WithoutAnAggregation) {
  testing::asserts("SEM-51");
  VariableFixture fixture;
  EXPECT_EQ(error_of([&] { fixture.strategy.replica_local_variable(Aggregation::kNone, 1.0F); }),
            ErrorCode::kNoAggregation);
}

// Overridden (TLV-29): no context makes replicas read the sum. Cross-replica context reads the sum.
TYPED_TEST_F(LocalRows, TLV_26_TLV_29_Operators) {
  VariableFixture& fixture = this->fixture();
  const auto mean = this->local(fixture, Aggregation::kMean, 0);
  this->write(fixture, mean, {0, 1});
  EXPECT_EQ(this->read(fixture, mean) + 1, 1.5F);
  EXPECT_EQ(fixture.run([&](ReplicaContext& replica, int) {
    return TypeParam::value(mean.on(replica) + 1.0F);
  }),
            Reals({1, 2}));
  const auto sum = this->local(fixture, Aggregation::kSum, 1);
  EXPECT_EQ(fixture.run([&](ReplicaContext& replica, int) {
    return TypeParam::value(sum.on(replica) + 10.0F);
  }),
            Reals({11, 11}));
  EXPECT_EQ(this->read(fixture, sum) + 10, 12.0F);
}

// Overridden: no remainder is lost (the reference restores [3, 3]).
TYPED_TEST_F(LocalRows, TLV_31_IntegersKeepTheirRemainder) {
  VariableFixture& fixture = this->fixture();
  const auto v = fixture.strategy.replica_local_variable(
      ReduceOp::kSum, [] { return TypeParam::number(0); }, {.name = "v"});
  const auto components = [&] {
    Integers values;
    for (const auto& one : fixture.components(v)) values.push_back(TypeParam::value(one));
    return values;
  };
  fixture.strategy.run([&](ReplicaContext& replica) {
    v.on(replica) = TypeParam::number(3 + replica.replica_id());
  });
  EXPECT_EQ(components(), Integers({3, 4}));
  Checkpoint checkpoint(fixture.strategy);
  const TensorFile file = checkpoint.add(v).contents();
  checkpoint.restore(file, {.sums = SumSplit::kDivide, .site = CallSite::here()});
  EXPECT_EQ(components(), Integers({4, 3}));
  EXPECT_EQ(TypeParam::value(fixture.strategy.read(v)), 7);
  checkpoint.restore(file);
  EXPECT_EQ(components(), Integers({7, 0}));
  EXPECT_EQ(TypeParam::value(fixture.strategy.read(v)), 7);
}

}  // namespace
}  // namespace belfry::testing::conformance_replica_local
