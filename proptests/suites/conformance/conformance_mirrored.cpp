// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about mirrored variables. MVA-26 to MVA-34 are in conformance_scatter.cpp;
// MVA-45 is about fetching.
#include "belfry/checkpoint.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "suites/residence.h"
#include "suites/variable_fixture.h"

#include <cstdint>
#include <tuple>
#include <vector>

namespace belfry::testing::conformance_mirrored {
namespace {

// Overridden (MVA-02): an error in every version of the reference. The row lets replicas write
// their components alone.
TEST(Conformance, MVA_01_MVA_02_AssigningWithoutAnAggregation) {
  VariableFixture fixture;
  const auto v = fixture.strategy.mirrored_variable(1.0F);
  EXPECT_EQ(error_of([&] {
              fixture.strategy.run([&](ReplicaContext& replica) { replica.assign(v, 5.0F); });
            }),
            ErrorCode::kNoAggregation);
  EXPECT_EQ(fixture.components(v), Reals({1, 1}));
}

template <class Where>
class MirroredRows : public NumericRows<Where, VariableFixture> {
 protected:
  template <class T>
  static auto make(VariableFixture& fixture, T first,
                   Aggregation aggregation = Aggregation::kNone) {
    return fixture.strategy.mirrored_variable([first] { return Where::number(first); },
                                              {.aggregation = aggregation});
  }
  /// A variable that can be saved, named `v`.
  static auto named(VariableFixture& fixture, float first,
                    Aggregation aggregation = Aggregation::kNone) {
    return fixture.strategy.mirrored_variable([first] { return Where::number(first); },
                                              {.name = "v", .aggregation = aggregation});
  }
  /// The components, as plain numbers.
  template <class V>
  static auto values(VariableFixture& fixture, const V& variable) {
    std::vector<decltype(Where::value(fixture.strategy.read(variable)))> values;
    for (const auto& one : fixture.components(variable)) values.push_back(Where::value(one));
    return values;
  }
};

/// Sets a variable to a number, adds the number, or subtracts its negative: equal results, starting
/// from 0.
enum class Way : std::uint8_t { kSet, kAdd, kSubtract };
constexpr Way kWays[] = {Way::kSet, Way::kAdd, Way::kSubtract};

template <class V, class N>
void assign_in(ReplicaContext& replica, Way way, const V& variable, const N& number) {
  if (way == Way::kSet) replica.assign(variable, number);
  if (way == Way::kAdd) replica.assign_add(variable, number);
  if (way == Way::kSubtract) replica.assign_sub(variable, number);
}
// In cross-replica context, with a number on the device of the component.
template <class N>
N changed(Way way, const N& component, const N& number) {
  if (way == Way::kSet) return number;
  return way == Way::kAdd ? component + number : component - number;
}

// Overridden: a value from a replica is a value of the replica, whether equal or not.
TYPED_TEST_F(MirroredRows, MVA_03_TheSameLiteralOnEveryReplicaIsSummed) {
  VariableFixture& fixture = this->fixture();
  const auto v = this->make(fixture, 1.0F, Aggregation::kSum);
  fixture.strategy.run([&](ReplicaContext& r) { r.assign(v, TypeParam::number(5.0F)); });
  EXPECT_EQ(this->values(fixture, v), Reals({10, 10}));
}

TYPED_TEST_F(MirroredRows, MVA_04_MVA_10_CrossReplicaAssignments) {
  using Number = decltype(TypeParam::number(0.0F));
  VariableFixture& fixture = this->fixture();
  const auto v = this->make(fixture, 1.0F);
  const auto returned = fixture.cross.update(
      v, [](Number& component) { return component = TypeParam::number(6.0F); });
  EXPECT_EQ(TypeParam::value(returned.value()), 6.0F);
  EXPECT_EQ(TypeParam::value(fixture.strategy.read(v)), 6.0F);
  const auto w = this->make(fixture, 5.0F);
  const auto less =
      fixture.cross.update(w, [](Number& component) { return component = component - 2.0F; });
  EXPECT_EQ(TypeParam::value(less[1]), 3.0F);
  EXPECT_EQ(this->values(fixture, w), Reals({3, 3}));
}

TYPED_TEST_F(MirroredRows, MVA_06_MVA_09_MVA_12_MeansOfOneLiteral) {
  VariableFixture& fixture = this->fixture();
  const auto set = this->make(fixture, 0.0F, Aggregation::kMean);
  const auto added = this->make(fixture, 1.0F, Aggregation::kMean);
  const auto subtracted = this->make(fixture, 5.0F, Aggregation::kMean);
  fixture.strategy.run([&](ReplicaContext& replica) {
    replica.assign(set, TypeParam::number(5.0F));
    replica.assign_add(added, TypeParam::number(5.0F));
    replica.assign_sub(subtracted, TypeParam::number(1.0F));
  });
  EXPECT_EQ(this->values(fixture, set), Reals({5, 5}));
  EXPECT_EQ(this->values(fixture, added), Reals({6, 6}));
  EXPECT_EQ(this->values(fixture, subtracted), Reals({4, 4}));
}

TYPED_TEST_F(MirroredRows, MVA_13_MVA_23_OnlyTheFirstReplicaUpdates) {
  VariableFixture& fixture = this->fixture();
  const auto v = this->make(fixture, 3.0F, Aggregation::kOnlyFirst);
  const auto add = [&](float by) {
    fixture.strategy.run([&](ReplicaContext& replica) {
      const auto times = static_cast<float>(replica.replica_id() + 1);
      replica.assign_add(v, TypeParam::number(by * times));
    });
    return this->values(fixture, v);
  };
  EXPECT_EQ(add(7), Reals({10, 10}));
  EXPECT_EQ(add(13), Reals({23, 23}));
  EXPECT_EQ(TypeParam::value(fixture.strategy.read(v)), 23.0F);
  const auto w = this->make(fixture, 15.0F, Aggregation::kOnlyFirst);
  EXPECT_EQ(fixture.run([&](ReplicaContext& replica, int id) {
    replica.assign(w, TypeParam::number(static_cast<float>(id)));
    return TypeParam::value(w.on(replica));
  }),
            Reals({0, 0}));
}

TYPED_TEST_F(MirroredRows, MVA_14_AGlobalStep) {
  for (int replicas : {1, 2}) {
    VariableFixture& fixture = this->fixture(replicas);
    const auto step = this->make(fixture, std::int64_t{0}, Aggregation::kOnlyFirst);
    for (std::int64_t seen : fixture.run([&](ReplicaContext& replica, int) {
           replica.assign_add(step, TypeParam::number(std::int64_t{1}));
           return TypeParam::value(step.on(replica));
         })) {
      EXPECT_EQ(seen, 1);
    }
  }
}

TYPED_TEST_F(MirroredRows, MVA_15_CrossReplicaUnderEveryAggregation) {
  using Number = decltype(TypeParam::number(0.0F));
  VariableFixture& fixture = this->fixture();
  for (Aggregation aggregation : all_aggregations()) {
    for (Way way : kWays) {
      const auto v = this->make(fixture, 0.0F, aggregation);
      fixture.cross.update(v, [way](Number& component) {
        const float number = way == Way::kSubtract ? -1.0F : 1.0F;
        component = changed(way, component, TypeParam::number(number));
      });
      EXPECT_EQ(this->values(fixture, v), Reals({1, 1}));
    }
  }
}

// Overridden (MVA-16): without an aggregation an assignment is an error (MVA-01): two aggregations
// remain.
TYPED_TEST_F(MirroredRows, MVA_16_MVA_18_InReplicas) {
  VariableFixture& fixture = this->fixture();
  const auto expect = [&](Aggregation aggregation, float number, const Reals& wanted) {
    for (Way way : kWays) {
      const auto v = this->make(fixture, 0.0F, aggregation);
      fixture.strategy.run([&](ReplicaContext& replica) {
        const float own = way == Way::kSubtract ? -number : number;
        assign_in(replica, way, v, TypeParam::number(own));
      });
      EXPECT_EQ(this->values(fixture, v), wanted);
    }
  };
  expect(Aggregation::kMean, 1, {1, 1});
  expect(Aggregation::kOnlyFirst, 1, {1, 1});
  expect(Aggregation::kSum, 2, {4, 4});
  expect(Aggregation::kMean, 2, {2, 2});
  expect(Aggregation::kOnlyFirst, 2, {2, 2});
}

// Overridden: without an aggregation, assigning in a replica is an error (MVA-01).
TYPED_TEST_F(MirroredRows, MVA_17_FromAnotherMirroredVariable) {
  using Number = decltype(TypeParam::number(0.0F));
  VariableFixture& fixture = this->fixture();
  const auto two = this->make(fixture, 2.0F);
  const auto minus_two = this->make(fixture, -2.0F);
  for (Aggregation aggregation :
       {Aggregation::kNone, Aggregation::kMean, Aggregation::kOnlyFirst}) {
    for (Way way : kWays) {
      const auto& other = way == Way::kSubtract ? minus_two : two;
      const auto outside = this->make(fixture, 0.0F, aggregation);
      const auto change = [way](Number& component, const Number& number) {
        component = changed(way, component, number);
      };
      fixture.cross.update(outside, change, other);
      EXPECT_EQ(this->values(fixture, outside), Reals({2, 2}));
      const auto inside = this->make(fixture, 0.0F, aggregation);
      const auto code = error_of([&] {
        fixture.strategy.run(
            [&](ReplicaContext& replica) { assign_in(replica, way, inside, other.on(replica)); });
      });
      const bool refused = aggregation == Aggregation::kNone;
      EXPECT_EQ(code, refused ? ErrorCode::kNoAggregation : ErrorCode::kInternal);
      EXPECT_EQ(this->values(fixture, inside), refused ? Reals({0, 0}) : Reals({2, 2}));
    }
  }
}

TYPED_TEST_F(MirroredRows, MVA_19_MVA_20_MVA_21_ReadingInBothContexts) {
  testing::asserts("SEM-43", "SEM-46");
  VariableFixture& fixture = this->fixture();
  const auto added = this->make(fixture, 1.0F, Aggregation::kMean);
  EXPECT_EQ(fixture.run([&](ReplicaContext& replica, int) {
    replica.assign_add(added, TypeParam::number(1.0F));
    return TypeParam::value(added.on(replica));
  }),
            Reals({2, 2}));
  for (Aggregation aggregation : all_aggregations()) {
    const auto v = this->make(fixture, 2.0F, aggregation);
    EXPECT_EQ(
        fixture.run([&](ReplicaContext& replica, int) { return TypeParam::value(v.on(replica)); }),
        Reals({2, 2}));
    EXPECT_EQ(TypeParam::value(fixture.strategy.read(v)), 2.0F);
    EXPECT_EQ(this->values(fixture, v), Reals({2, 2}));
  }
}

TYPED_TEST_F(MirroredRows, MVA_24_Operators) {
  VariableFixture& fixture = this->fixture();
  const auto v = this->make(fixture, 1, Aggregation::kSum);
  EXPECT_EQ(fixture.run([&](ReplicaContext& replica, int) {
    return TypeParam::value(v.on(replica) + TypeParam::number(1));
  }),
            Integers({2, 2}));
  const Scope scope = fixture.strategy.scope();
  EXPECT_EQ(TypeParam::value(fixture.strategy.read(v) + TypeParam::number(1)), 2);
}

TEST(Conformance, MVA_25_AllReduceOfAMirroredVariableSumsTheReplicas) {
  for (int replicas : {1, 2, 3}) {
    VariableFixture fixture(replicas);
    const auto v = fixture.strategy.mirrored_variable([] { return Tensor<float>::full({1}, 2.0F); },
                                                      {.aggregation = Aggregation::kMean});
    const auto got = fixture.run([&](ReplicaContext& replica, int id) {
      return replica.all_reduce(ReduceOp::kSum, v.on(replica)).item() + static_cast<float>(id);
    });
    for (int id = 0; id < replicas; ++id) {
      EXPECT_EQ(got[static_cast<std::size_t>(id)], static_cast<float>(2 * replicas + id));
    }
  }
}

template <class T>
TensorFile saved(VariableFixture& fixture, const MirroredVariable<T>& variable) {
  return Checkpoint(fixture.strategy).add(variable).contents();
}

// Overridden: components cannot start out different (the row saves [3, 4]).
TYPED_TEST_F(MirroredRows, MVA_36_SaveAndRestore) {
  VariableFixture& fixture = this->fixture();
  const TensorFile file = saved(fixture, this->named(fixture, 3));
  const auto fresh = this->named(fixture, 7);
  Checkpoint(fixture.strategy).add(fresh).restore(file);
  EXPECT_EQ(this->values(fixture, fresh), Reals({3, 3}));
}

TYPED_TEST_F(MirroredRows, MVA_38_FromOneReplicaToTwo) {
  VariableFixture& plain = this->fixture(1);
  VariableFixture& fixture = this->fixture(2);
  const TensorFile file = saved(plain, this->named(plain, 3));
  const auto fresh = this->named(fixture, 7);
  Checkpoint(fixture.strategy).add(fresh).restore(file);
  EXPECT_EQ(this->values(fixture, fresh), Reals({3, 3}));
}

TYPED_TEST_F(MirroredRows, MVA_39_UnderEveryAggregation) {
  using Number = decltype(TypeParam::number(0.0F));
  for (Aggregation aggregation : all_aggregations()) {
    VariableFixture& plain = this->fixture(1);
    VariableFixture& fixture = this->fixture(2);
    const auto v = this->named(fixture, 2, aggregation);
    const auto one = this->named(plain, 3);
    const TensorFile plain_file = saved(plain, one);
    const TensorFile file = saved(fixture, v);
    fixture.cross.update(v, [](Number& component) { component = TypeParam::number(9.0F); });
    EXPECT_EQ(this->values(fixture, v), Reals({9, 9}));
    Checkpoint(fixture.strategy).add(v).restore(file);
    EXPECT_EQ(this->values(fixture, v), Reals({2, 2}));
    Checkpoint(plain.strategy).add(one).restore(file);
    EXPECT_EQ(TypeParam::value(plain.strategy.read(one)), 2.0F);
    Checkpoint(fixture.strategy).add(v).restore(plain_file);
    EXPECT_EQ(this->values(fixture, v), Reals({3, 3}));
  }
}

TEST(Conformance, MVA_40_RestoringReadsWhatWasReadBefore) {
  for (int replicas : {1, 2}) {
    for (auto kind : {Synchronization::kOnWrite, Synchronization::kOnRead}) {
      for (auto aggregation : {Aggregation::kMean, Aggregation::kSum, Aggregation::kOnlyFirst}) {
        VariableFixture fixture(replicas);
        const auto v = fixture.strategy.variable(
            [] { return Tensor<float>::from({4}, Reals{1, 2, 3, 4}); },
            {.name = "v", .aggregation = aggregation, .synchronization = kind});
        const Reals before = fixture.strategy.read(v).to_host();
        Checkpoint checkpoint(fixture.strategy);
        const TensorFile file = checkpoint.add(v).contents();
        fixture.cross.update(v, [](Tensor<float>& component) {
          component = Tensor<float>::from({4}, Reals{4, 3, 2, 1});
        });
        EXPECT_NE(fixture.strategy.read(v).to_host(), before);
        checkpoint.restore(file);
        EXPECT_EQ(fixture.strategy.read(v).to_host(), before);
      }
    }
  }
}

// Overridden: a variable is no leaf of a nest. A program fetches the variable itself, or a value
// read from the variable.
TEST(Conformance, MVA_45_FetchingAMirroredVariable) {
  VariableFixture fixture(1);
  const auto v = fixture.strategy.mirrored_variable(2.0F);
  EXPECT_EQ(fixture.cross.fetch(v), 2.0F);
  const auto nest = fixture.cross.broadcast(std::tuple(fixture.strategy.read(v), 1));
  EXPECT_EQ(fixture.cross.fetch(nest), std::tuple(2.0F, 1));
}

// Overridden: an assignment returns nothing; the variable is read instead.
TEST(Conformance, MVA_42_TheValueAfterAnAssignment) {
  for (int replicas : {1, 2}) {
    VariableFixture fixture(replicas);
    const auto v = fixture.strategy.mirrored_variable([] { return Tensor<float>::zeros({1}); },
                                                      {.aggregation = Aggregation::kMean});
    for (float one : fixture.run([&](ReplicaContext& replica, int) {
           replica.assign(v, Tensor<float>::full({1}, 2.0F));
           return add(v.on(replica), 1.0F).item();
         })) {
      EXPECT_EQ(one, 3.0F);
    }
  }
}

TEST(Conformance, MVA_43_MeanOfIntegersIsRefusedWhenTheVariableIsMade) {
  testing::asserts("SEM-58");
  VariableFixture fixture;
  const VariableOptions mean{.name = "v", .aggregation = Aggregation::kMean};
  EXPECT_EQ(error_of([&] { fixture.strategy.mirrored_variable(1, mean); }),
            ErrorCode::kIntegerMean);
  EXPECT_EQ(error_of([&] {
              fixture.strategy.mirrored_variable([] { return Tensor<std::int32_t>::full({2}, 1); },
                                                 mean);
            }),
            ErrorCode::kIntegerMean);
  EXPECT_EQ(error_of([&] { fixture.strategy.replica_local_variable(ReduceOp::kMean, 1); }),
            ErrorCode::kIntegerMean);
}

// Overridden: no read reaches a component alone. Backends that compare components report the
// difference (SEM-11); the backends of the suites do.
TEST(Conformance, MVA_44_ComponentsThatDifferAreReported) {
  testing::asserts("SEM-11", "SEM-46");
  VariableFixture fixture;
  const auto v = fixture.strategy.mirrored_variable([] { return Tensor<float>::full({1}, 3.0F); },
                                                    {.name = "v"});
  float next = 3;
  fixture.cross.update(
      v, [&](Tensor<float>& component) { component = Tensor<float>::full({1}, next++); });
  ASSERT_TRUE(fixture.backend->verifies_mirrored());
  EXPECT_EQ(error_of([&] { fixture.strategy.read(v); }), ErrorCode::kMirroredDiverged);
  EXPECT_EQ(error_of([&] { fixture.cross.fetch(v); }), ErrorCode::kMirroredDiverged);
  for (int device : {0, 1}) {
    EXPECT_EQ(error_of([&] { fixture.cross.fetch(v, fixture.backend->device_spec(device)); }),
              ErrorCode::kMirroredDiverged);
  }
  Checkpoint checkpoint(fixture.strategy);
  checkpoint.add(v);
  EXPECT_EQ(error_of([&] { checkpoint.contents(); }), ErrorCode::kMirroredDiverged);
}

}  // namespace
}  // namespace belfry::testing::conformance_mirrored
