// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What the reference systems give when rows are scattered to variables (SEM-131).
#include "belfry/scatter.h"
#include "belfry/testing/asserts.h"
#include "suites/variable_stage.h"

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
auto three(VariableStage& stage, Aggregation aggregation, const std::vector<T>& first) {
  return stage.strategy.mirrored_variable([&] { return Tensor<T>::from({3}, first); },
                                          {.name = "v", .aggregation = aggregation});
}

template <class T>
void expect_everywhere(VariableStage& stage, const MirroredVariable<Tensor<T>>& variable,
                       const std::vector<T>& wanted) {
  for (const Tensor<T>& component : stage.components(variable)) {
    EXPECT_EQ(component.to_host(), wanted);
  }
}

// Replica i scatters `slices(i)`.
template <class T, class F>
void scatter_in_replicas(VariableStage& stage, ScatterOp op,
                         const MirroredVariable<Tensor<T>>& variable, const F& slices) {
  stage.strategy.run([&](ReplicaContext& replica) {
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
  VariableStage stage;
  const auto v = three<float>(stage, Aggregation::kMean, {0, 0, 0});
  scatter_in_replicas(stage, ScatterOp::kSubtract, v, deltas<float>);
  expect_everywhere(stage, v, {0, -1, -1});
}

TEST(Conformance, MVA_27_ScatterAddsTheSum) {
  VariableStage stage;
  const auto v = three<int>(stage, Aggregation::kSum, {0, 0, 0});
  scatter_in_replicas(stage, ScatterOp::kAdd, v, deltas<int>);
  expect_everywhere(stage, v, {0, 2, 2});
}

TEST(Conformance, MVA_28_ScatterDivides) {
  VariableStage stage;
  const auto v = three<int>(stage, Aggregation::kSum, {1, 6, 1});
  scatter_in_replicas(stage, ScatterOp::kDivide, v, factors<int>);
  expect_everywhere(stage, v, {0, 2, 1});
}

TEST(Conformance, MVA_29_ScatterMultiplies) {
  VariableStage stage;
  const auto v = three<float>(stage, Aggregation::kMean, {2, 1, 1});
  scatter_in_replicas(stage, ScatterOp::kMultiply, v, factors<float>);
  expect_everywhere(stage, v, {2, 1.5F, 1});
}

// Sums and means refuse the operation and stay as they are; the first replica's slices change
// `from` to `to`.
void expect_only_of_the_first(ScatterOp op, const Reals& from, float value, std::int64_t at,
                              const Reals& to) {
  VariableStage stage;
  const auto same = [&](int) { return of_three<float>({value}, {at}); };
  for (const Aggregation aggregation : {Aggregation::kSum, Aggregation::kMean}) {
    const auto v = three(stage, aggregation, from);
    EXPECT_EQ(error_of([&] { scatter_in_replicas(stage, op, v, same); }), ErrorCode::kUnsupported);
    expect_everywhere(stage, v, from);
  }
  const auto v = three(stage, Aggregation::kOnlyFirst, from);
  scatter_in_replicas(stage, op, v, same);
  expect_everywhere(stage, v, to);
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
  VariableStage stage;
  const auto two = [&] {
    const Scope scope = stage.strategy.scope();
    return of_three<float>({2}, {0});
  }();
  const auto sum = three<float>(stage, Aggregation::kSum, {1, 1, 1});
  scatter(stage.cross(), ScatterOp::kAdd, sum, two);
  expect_everywhere(stage, sum, {3, 1, 1});
  const auto none = three<float>(stage, Aggregation::kNone, {1, 1, 1});
  scatter(stage.cross(), ScatterOp::kMinimum, none, two);
  expect_everywhere(stage, none, {1, 1, 1});
}

TEST(Conformance, TLV_27_NoScatterToReplicaLocalVariablesInReplicas) {
  testing::asserts("SEM-131");
  VariableStage stage;
  for (const Aggregation aggregation :
       {Aggregation::kMean, Aggregation::kSum, Aggregation::kOnlyFirst}) {
    const auto v = stage.strategy.replica_local_variable(
        aggregation, [] { return Tensor<float>::zeros({3}); }, {.name = "total"});
    for (const ScatterOp op : kAllOps) {
      std::string text;
      EXPECT_EQ(error_of(
                    [&] {
                      stage.strategy.run([&](ReplicaContext& replica) {
                        scatter(replica, op, v, of_three<float>({1}, {0}));
                      });
                    },
                    &text),
                ErrorCode::kUnsupported);
      EXPECT_THAT(text, AllOf(HasSubstr("total"), HasSubstr("conformance_scatter.cpp")));
    }
    for (const auto& component : stage.components(v)) {
      EXPECT_EQ(component.to_host(), Reals({0, 0, 0}));
    }
  }
}

// What follows has no row.

TEST(Scatter, OfTheFirstReplicaHasEveryOperation) {
  testing::asserts("SEM-131");
  const Reals wanted[] = {{8, 9, 8}, {8, 7, 8}, {8, 8, 8}, {8, 8, 8},
                          {8, 1, 8}, {8, 8, 8}, {8, 1, 8}};
  VariableStage stage(3);
  for (const ScatterOp op : kAllOps) {
    const auto v = three<float>(stage, Aggregation::kOnlyFirst, {8, 8, 8});
    scatter_in_replicas(stage, op, v, [](int id) {
      return of_three<float>({static_cast<float>(id + 1)}, {1 - id % 2});
    });
    expect_everywhere(stage, v, wanted[static_cast<int>(op)]);
  }
}

// 2 and 4 are at place 0, of two replicas: 48 / 2 / 4, and not 48 / 6.
TEST(Scatter, RowsOfOnePlaceMeetItOneAfterTheOther) {
  VariableStage stage;
  const auto v = three<float>(stage, Aggregation::kSum, {48, 1, 1});
  scatter_in_replicas(stage, ScatterOp::kDivide, v, [](int id) {
    return of_three<float>({static_cast<float>(2 * id + 2)}, {0});
  });
  expect_everywhere(stage, v, {6, 1, 1});
}

TEST(Scatter, WithoutAnAggregationIsOneOfCrossReplicaContext) {
  testing::asserts("SEM-131");
  VariableStage stage;
  const auto v = three<float>(stage, Aggregation::kNone, {1, 1, 1});
  for (const ScatterOp op : kAllOps) {
    EXPECT_EQ(error_of([&] { scatter_in_replicas(stage, op, v, deltas<float>); }),
              ErrorCode::kNoAggregation);
  }
  expect_everywhere(stage, v, {1, 1, 1});
}

TEST(Scatter, ReplicasAgreeOnWhatIsDoneAndWhereTo) {
  VariableStage stage;
  const auto v = three<float>(stage, Aggregation::kSum, {1, 1, 1});
  const auto w = three<float>(stage, Aggregation::kSum, {1, 1, 1});
  const auto code = [&](bool other_op, bool other_variable) {
    return error_of([&] {
      stage.strategy.run([&](ReplicaContext& replica) {
        const bool first = replica.replica_id() == 0;
        scatter(replica, first || !other_op ? ScatterOp::kAdd : ScatterOp::kSubtract,
                first || !other_variable ? v : w, of_three<float>({1}, {0}));
      });
    });
  };
  EXPECT_EQ(code(true, false), ErrorCode::kMergePlaces);
  EXPECT_EQ(code(false, true), ErrorCode::kMergePlaces);
  expect_everywhere(stage, v, {1, 1, 1});
  expect_everywhere(stage, w, {1, 1, 1});
}

TEST(Scatter, SlicesAreOfATensorOfTheVariablesShape) {
  testing::asserts("SEM-131");
  VariableStage stage;
  const Scope scope = stage.strategy.scope();
  const auto v = three<float>(stage, Aggregation::kSum, {1, 1, 1});
  const auto four = [](int) {
    return indexed_slices(Tensor<float>::full({1}, 1.0F), Tensor<std::int64_t>::full({1}, 0),
                          Shape{4});
  };
  std::string text;
  EXPECT_EQ(error_of([&] { scatter(stage.cross(), ScatterOp::kAdd, v, four(0)); }, &text),
            ErrorCode::kShape);
  EXPECT_THAT(text, AllOf(HasSubstr("[4]"), HasSubstr("[3]"), HasSubstr("v")));
  EXPECT_EQ(error_of([&] { scatter_in_replicas(stage, ScatterOp::kAdd, v, four); }),
            ErrorCode::kShape);
  expect_everywhere(stage, v, {1, 1, 1});
}

TEST(Scatter, MirroredSlicesAreThoseOfTheComponentsReplica) {
  VariableStage stage;
  const auto v = three<float>(stage, Aggregation::kNone, {1, 1, 1});
  const auto all =
      reduce_slices(stage.cross(), ReduceOp::kSum, stage.strategy.distribute_values(deltas<float>));
  scatter(stage.cross(), ScatterOp::kSet, v, all);
  expect_everywhere(stage, v, {0, 1, 2});
}

// From outside every component changes alike; a replica changes its own, and nothing is combined.
TEST(Scatter, ToReplicaLocalVariables) {
  VariableStage stage;
  const Scope scope = stage.strategy.scope();
  const auto v = stage.strategy.replica_local_variable(ReduceOp::kSum,
                                                       [] { return Tensor<float>::zeros({3, 1}); });
  const auto one = indexed_slices(Tensor<float>::full({1, 1}, 1.0F),
                                  Tensor<std::int64_t>::full({1}, 0), Shape{3, 1});
  scatter(stage.cross(), ScatterOp::kAdd, v, one);
  stage.strategy.run([&](ReplicaContext& replica) {
    scatter_rows(ScatterOp::kSet, v.on(replica),
                 Tensor<std::int64_t>::full({1}, replica.replica_id() + 1),
                 Tensor<float>::full({1, 1}, 5.0F));
  });
  const auto components = stage.components(v);
  EXPECT_EQ(components[0].to_host(), Reals({1, 5, 0}));
  EXPECT_EQ(components[1].to_host(), Reals({1, 0, 5}));
  EXPECT_EQ(stage.strategy.read(v).to_host(), Reals({2, 5, 5}));
}

TEST(Scatter, FlagsCanBeReplaced) {
  VariableStage stage;
  const auto v = stage.strategy.mirrored_variable([] { return Tensor<bool>::full({3}, false); },
                                                  {.aggregation = Aggregation::kOnlyFirst});
  stage.strategy.run([&](ReplicaContext& replica) {
    scatter(replica, ScatterOp::kSet, v,
            indexed_slices(Tensor<bool>::full({1}, true), Tensor<std::int64_t>::full({1}, 1),
                           Shape{3}));
  });
  for (const Tensor<bool>& component : stage.components(v)) {
    EXPECT_EQ(component.to_host(), (std::vector<std::uint8_t>{0, 1, 0}));
  }
}

}  // namespace
}  // namespace belfry::testing::conformance_scatter
