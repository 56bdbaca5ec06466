// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about scattering rows to variables (SEM-131).
#include "belfry/scatter.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "suites/variable_fixture.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace belfry::testing::conformance_scatter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Rows = std::vector<std::int64_t>;

constexpr ScatterOp kAllOps[] = {ScatterOp::kAdd,    ScatterOp::kSubtract, ScatterOp::kMultiply,
                                 ScatterOp::kDivide, ScatterOp::kMinimum,  ScatterOp::kMaximum,
                                 ScatterOp::kSet};

// Numbers at some places of three, on the current device.
template <class T>
IndexedSlices<T> of_three(const std::vector<T>& values, const Rows& rows) {
  const Shape shape{static_cast<std::int64_t>(rows.size())};
  return indexed_slices(Tensor<T>::from(shape, values), Tensor<std::int64_t>::from(shape, rows),
                        Shape{3});
}

template <class T>
auto three(VariableFixture& fixture, Aggregation aggregation, const std::vector<T>& first) {
  return fixture.strategy.mirrored_variable([&] { return Tensor<T>::from({3}, first); },
                                            {.name = "v", .aggregation = aggregation});
}

template <class T>
void expect_everywhere(VariableFixture& fixture, const MirroredVariable<Tensor<T>>& variable,
                       const std::vector<T>& wanted) {
  for (const Tensor<T>& component : fixture.components(variable)) {
    EXPECT_EQ(component.to_host(), wanted);
  }
}

// Replica i scatters `slices(i)`.
template <class T, class F>
void scatter_in_replicas(VariableFixture& fixture, ScatterOp op,
                         const MirroredVariable<Tensor<T>>& variable, const F& slices) {
  fixture.strategy.run([&](ReplicaContext& replica) {
    scatter(replica, op, variable, slices(replica.replica_id()));
  });
}

// Replica i's numbers i and i + 1 at places i and i + 1.
template <class T>
IndexedSlices<T> deltas(int id) {
  return of_three<T>({static_cast<T>(id), static_cast<T>(id + 1)}, {id, id + 1});
}
// Replica i's number i + 2 at place i.
template <class T>
IndexedSlices<T> factors(int id) {
  return of_three<T>({static_cast<T>(id + 2)}, {id});
}

TEST(Conformance, MVA_26_ScatterSubtractsTheMean) {
  VariableFixture fixture;
  const auto v = three<float>(fixture, Aggregation::kMean, {0, 0, 0});
  scatter_in_replicas(fixture, ScatterOp::kSubtract, v, deltas<float>);
  expect_everywhere(fixture, v, {0, -1, -1});
}

TEST(Conformance, MVA_27_ScatterAddsTheSum) {
  VariableFixture fixture;
  const auto v = three<int>(fixture, Aggregation::kSum, {0, 0, 0});
  scatter_in_replicas(fixture, ScatterOp::kAdd, v, deltas<int>);
  expect_everywhere(fixture, v, {0, 2, 2});
}

TEST(Conformance, MVA_28_ScatterDivides) {
  VariableFixture fixture;
  const auto v = three<int>(fixture, Aggregation::kSum, {1, 6, 1});
  scatter_in_replicas(fixture, ScatterOp::kDivide, v, factors<int>);
  expect_everywhere(fixture, v, {0, 2, 1});
}

TEST(Conformance, MVA_29_ScatterMultiplies) {
  VariableFixture fixture;
  const auto v = three<float>(fixture, Aggregation::kMean, {2, 1, 1});
  scatter_in_replicas(fixture, ScatterOp::kMultiply, v, factors<float>);
  expect_everywhere(fixture, v, {2, 1.5F, 1});
}

// Expects that variables with sums and means refuse the operation and stay unchanged, and that the
// first replica's slices change `from` to `to`.
void expect_only_of_the_first(ScatterOp op, const Reals& from, float value, std::int64_t at,
                              const Reals& to) {
  VariableFixture fixture;
  const auto same = [&](int) { return of_three<float>({value}, {at}); };
  for (const Aggregation aggregation : {Aggregation::kSum, Aggregation::kMean}) {
    const auto v = three(fixture, aggregation, from);
    EXPECT_EQ(error_of([&] { scatter_in_replicas(fixture, op, v, same); }),
              ErrorCode::kUnsupported);
    expect_everywhere(fixture, v, from);
  }
  const auto v = three(fixture, Aggregation::kOnlyFirst, from);
  scatter_in_replicas(fixture, op, v, same);
  expect_everywhere(fixture, v, to);
}

TEST(Conformance, MVA_30_ScatterMinimum) {
  expect_only_of_the_first(ScatterOp::kMinimum, {0, 2, 0}, 1, 1, {0, 1, 0});
}

TEST(Conformance, MVA_31_ScatterMaximum) {
  expect_only_of_the_first(ScatterOp::kMaximum, {0, 0, 0}, 1, 0, {1, 0, 0});
}

TEST(Conformance, MVA_32_ScatterReplaces) {
  expect_only_of_the_first(ScatterOp::kSet, {0, 0, 0}, 3, 1, {0, 3, 0});
}

TEST(Conformance, MVA_34_ScatterInCrossReplicaContext) {
  VariableFixture fixture;
  const auto two = [&] {
    const Scope scope = fixture.strategy.scope();
    return of_three<float>({2}, {0});
  }();
  const auto sum = three<float>(fixture, Aggregation::kSum, {1, 1, 1});
  scatter(fixture.cross, ScatterOp::kAdd, sum, two);
  expect_everywhere(fixture, sum, {3, 1, 1});
  const auto none = three<float>(fixture, Aggregation::kNone, {1, 1, 1});
  scatter(fixture.cross, ScatterOp::kMinimum, none, two);
  expect_everywhere(fixture, none, {1, 1, 1});
}

TEST(Conformance, TLV_27_NoScatterToReplicaLocalVariablesInReplicas) {
  testing::asserts("SEM-131");
  VariableFixture fixture;
  for (const Aggregation aggregation :
       {Aggregation::kMean, Aggregation::kSum, Aggregation::kOnlyFirst}) {
    const auto v = fixture.strategy.replica_local_variable(
        aggregation, [] { return Tensor<float>::zeros({3}); }, {.name = "total"});
    for (const ScatterOp op : kAllOps) {
      std::string text;
      EXPECT_EQ(error_of(
                    [&] {
                      fixture.strategy.run([&](ReplicaContext& replica) {
                        scatter(replica, op, v, of_three<float>({1}, {0}));
                      });
                    },
                    &text),
                ErrorCode::kUnsupported);
      EXPECT_THAT(text, AllOf(HasSubstr("total"), HasSubstr("conformance_scatter.cpp")));
    }
    for (const auto& component : fixture.components(v)) {
      EXPECT_EQ(component.to_host(), Reals({0, 0, 0}));
    }
  }
}

// The tests below have no row of the catalogue.

TEST(Scatter, WithoutAnAggregationIsOneOfCrossReplicaContext) {
  testing::asserts("SEM-131");
  VariableFixture fixture;
  const auto v = three<float>(fixture, Aggregation::kNone, {1, 1, 1});
  for (const ScatterOp op : kAllOps) {
    EXPECT_EQ(error_of([&] { scatter_in_replicas(fixture, op, v, deltas<float>); }),
              ErrorCode::kNoAggregation);
  }
  expect_everywhere(fixture, v, {1, 1, 1});
}

TEST(Scatter, ReplicasAgreeOnWhatIsDoneAndWhereTo) {
  VariableFixture fixture(3);
  const auto v = three<float>(fixture, Aggregation::kSum, {1, 1, 1});
  const auto w = three<float>(fixture, Aggregation::kSum, {1, 1, 1});
  at_each_place(3, [&](int odd) {
    const auto code = [&](ScatterOp op, const auto& variable) {
      return error_of([&] {
        fixture.strategy.run([&](ReplicaContext& replica) {
          const bool is_odd = replica.replica_id() == odd;
          scatter(replica, is_odd ? op : ScatterOp::kAdd, is_odd ? variable : v,
                  of_three<float>({1}, {0}));
        });
      });
    };
    EXPECT_EQ(code(ScatterOp::kSubtract, v), ErrorCode::kMergePlaces);
    EXPECT_EQ(code(ScatterOp::kAdd, w), ErrorCode::kMergePlaces);
  });
  expect_everywhere(fixture, v, {1, 1, 1});
  expect_everywhere(fixture, w, {1, 1, 1});
}

TEST(Scatter, SlicesAreOfATensorOfTheVariablesShape) {
  testing::asserts("SEM-131");
  VariableFixture fixture;
  const Scope scope = fixture.strategy.scope();
  const auto v = three<float>(fixture, Aggregation::kSum, {1, 1, 1});
  const auto four = [](int) {
    return indexed_slices(Tensor<float>::full({1}, 1.0F), Tensor<std::int64_t>::full({1}, 0),
                          Shape{4});
  };
  std::string text;
  EXPECT_EQ(error_of([&] { scatter(fixture.cross, ScatterOp::kAdd, v, four(0)); }, &text),
            ErrorCode::kShape);
  EXPECT_THAT(text, AllOf(HasSubstr("[4]"), HasSubstr("[3]"), HasSubstr("v")));
  EXPECT_EQ(error_of([&] { scatter_in_replicas(fixture, ScatterOp::kAdd, v, four); }),
            ErrorCode::kShape);
  expect_everywhere(fixture, v, {1, 1, 1});
}

TEST(Scatter, MirroredSlicesAreThoseOfTheComponentsReplica) {
  VariableFixture fixture;
  const auto v = three<float>(fixture, Aggregation::kNone, {1, 1, 1});
  const auto all = reduce_slices(fixture.cross, ReduceOp::kSum,
                                 fixture.strategy.distribute_values(deltas<float>));
  scatter(fixture.cross, ScatterOp::kSet, v, all);
  expect_everywhere(fixture, v, {0, 1, 2});
}

// Outside replicas, every component changes in the same way. A replica changes its own component,
// and nothing is combined.
TEST(Scatter, ToReplicaLocalVariables) {
  VariableFixture fixture;
  const Scope scope = fixture.strategy.scope();
  const auto v = fixture.strategy.replica_local_variable(
      ReduceOp::kSum, [] { return Tensor<float>::zeros({3, 1}); });
  const auto one = indexed_slices(Tensor<float>::full({1, 1}, 1.0F),
                                  Tensor<std::int64_t>::full({1}, 0), Shape{3, 1});
  scatter(fixture.cross, ScatterOp::kAdd, v, one);
  fixture.strategy.run([&](ReplicaContext& replica) {
    scatter_rows(ScatterOp::kSet, v.on(replica),
                 Tensor<std::int64_t>::full({1}, replica.replica_id() + 1),
                 Tensor<float>::full({1, 1}, 5.0F));
  });
  const auto components = fixture.components(v);
  EXPECT_EQ(components[0].to_host(), Reals({1, 5, 0}));
  EXPECT_EQ(components[1].to_host(), Reals({1, 0, 5}));
  EXPECT_EQ(fixture.strategy.read(v).to_host(), Reals({2, 5, 5}));
}

TEST(Scatter, FlagsCanBeReplaced) {
  VariableFixture fixture;
  const auto v = fixture.strategy.mirrored_variable([] { return Tensor<bool>::full({3}, false); },
                                                    {.aggregation = Aggregation::kOnlyFirst});
  fixture.strategy.run([&](ReplicaContext& replica) {
    scatter(replica, ScatterOp::kSet, v,
            indexed_slices(Tensor<bool>::full({1}, true), Tensor<std::int64_t>::full({1}, 1),
                           Shape{3}));
  });
  for (const Tensor<bool>& component : fixture.components(v)) {
    EXPECT_EQ(component.to_host(), (std::vector<std::uint8_t>{0, 1, 0}));
  }
}

}  // namespace
}  // namespace belfry::testing::conformance_scatter
