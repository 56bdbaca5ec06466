// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes with sharded variables.
#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Numbers = std::vector<float>;

Tensor<float> five() { return Tensor<float>::from({5}, {1, 2, 3, 4, 5}); }

// The table 1 2, 3 4, 5 on three replicas.
struct ShardedErrors : ::testing::Test {
  Numbers elements() { return strategy.read(table).to_host(); }

  sim::Backend backend{{.devices = 3, .seed = 7}};
  MirroredStrategy strategy{backend};
  ShardedVariable<float> table = strategy.sharded_variable(five, Axis(0), {.name = "table"});
};

TEST_F(ShardedErrors, OfAHandleWithoutAVariable) {
  testing::asserts("SEM-284");
  const ShardedVariable<float> none;
  Checkpoint checkpoint(strategy);
  const std::vector<std::function<void()>> uses{
      [&] { none.shape(); },
      [&] { none.axis(); },
      [&] { strategy.read(none); },
      [&] { checkpoint.add(none); },
      [&] { strategy.cross_replica().update(none, [](Tensor<float>&) {}); },
      [&] { strategy.run([&](ReplicaContext& replica) { none.on(replica); }); },
      [&] { strategy.run([&](ReplicaContext& replica) { none.whole(replica); }); }};
  for (const auto& use : uses) EXPECT_EQ(code_of(use), ErrorCode::kVariableEmpty);
}

TEST_F(ShardedErrors, OfAnotherStrategy) {
  testing::asserts("SEM-284");
  sim::Backend elsewhere{{.devices = 3, .seed = 7}};
  MirroredStrategy other{elsewhere};
  Checkpoint checkpoint(other);
  const std::vector<std::function<void()>> uses{
      [&] { other.read(table); }, [&] { checkpoint.add(table); },
      [&] { other.cross_replica().update(table, [](Tensor<float>&) {}); },
      [&] { other.run([&](ReplicaContext& replica) { table.on(replica); }); },
      [&] { other.run([&](ReplicaContext& replica) { table.whole(replica); }); }};
  for (const auto& use : uses) EXPECT_EQ(code_of(use), ErrorCode::kOtherStrategy);
}

TEST_F(ShardedErrors, OfAContext) {
  testing::asserts("SEM-284");
  const std::vector<std::function<void()>> uses{
      [&] { strategy.run([&](ReplicaContext& replica) { replica.strategy().read(table); }); },
      [&] {
        ReplicaContext* left = nullptr;
        strategy.run([&](ReplicaContext& replica) {
          if (replica.replica_id() == 0) left = &replica;
          replica.merge_call([&](CrossReplicaContext&) { table.on(*left); });
        });
      }};
  for (const auto& use : uses) EXPECT_EQ(code_of(use), ErrorCode::kWrongContext);
}

TEST_F(ShardedErrors, OfTheAxis) {
  testing::asserts("SEM-284");
  for (const int axis : {1, 2, -2}) {
    EXPECT_EQ(code_of([&] { strategy.sharded_variable(five, Axis(axis)); }), ErrorCode::kShape);
  }
  const auto number = [] { return Tensor<float>::full({}, 1); };
  EXPECT_EQ(code_of([&] { strategy.sharded_variable(number, Axis(0)); }), ErrorCode::kShape);
  EXPECT_EQ(strategy.sharded_variable(five, Axis(-1)).axis().value, 0);
}

TEST_F(ShardedErrors, OfTheFirstValue) {
  testing::asserts("SEM-284");
  EXPECT_EQ(code_of([&] { strategy.sharded_variable(Tensor<float>(), Axis(0)); }),
            ErrorCode::kInvalidArgument);
  const auto too_many = [](std::int64_t begin, std::int64_t end) {
    return Tensor<float>::zeros({end - begin + 1});
  };
  EXPECT_EQ(code_of([&] { strategy.sharded_variable({5}, too_many, Axis(0)); }), ErrorCode::kShape);
  const auto fails = []() -> Tensor<float> { throw std::runtime_error("no file"); };
  EXPECT_THROW(strategy.sharded_variable(fails, Axis(0)), std::runtime_error);
  const VariableOptions somewhere{.devices = {strategy.devices()[0]}};
  EXPECT_EQ(code_of([&] { strategy.sharded_variable(five, Axis(0), somewhere); }),
            ErrorCode::kDestination);
}

// The error names the line of `on`, the replica, and both shapes. The table stays as it was.
TEST_F(ShardedErrors, OfAnAssignedShape) {
  testing::asserts("SEM-281");
  int line = 0;
  const ErrorReport report = report_of([&] {
    strategy.run([&](ReplicaContext& replica) {
      if (replica.replica_id() != 2) return;
      line = __LINE__ + 1;
      table.on(replica) = Tensor<float>::zeros({2});
    });
  });
  EXPECT_EQ(report.code, ErrorCode::kShape);
  EXPECT_EQ(report.site.line, line);
  ASSERT_EQ(report.replicas.size(), 1U);
  EXPECT_EQ(report.replicas[0].replica_id, 2);
  EXPECT_THAT(report.replicas[0].what, HasSubstr("float32[2]"));
  EXPECT_THAT(report.expected, HasSubstr("float32[1]: the rows 4 to 4 of axis 0 of [5]"));
  EXPECT_THAT(elements(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(code_of([&] {
              strategy.run([&](ReplicaContext& replica) { table.on(replica) = Tensor<float>(); });
            }),
            ErrorCode::kInvalidArgument);
  EXPECT_THAT(elements(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(ShardedErrors, OfAPartOfAnotherVariable) {
  testing::asserts("SEM-281");
  const auto wide = strategy.sharded_variable([] { return Tensor<float>::zeros({9}); }, Axis(0));
  EXPECT_EQ(code_of([&] {
              strategy.run([&](ReplicaContext& replica) { table.on(replica) = wide.on(replica); });
            }),
            ErrorCode::kShape);
}

TEST_F(ShardedErrors, OfAnUpdateThatChangesTheShape) {
  testing::asserts("SEM-281");
  const auto grows = [](Tensor<float>& part) { part = Tensor<float>::zeros({7}); };
  EXPECT_EQ(code_of([&] { strategy.cross_replica().update(table, grows); }), ErrorCode::kShape);
  EXPECT_THAT(elements(), ElementsAre(1, 2, 3, 4, 5));
}

// A reference to the tensor leads past the check of the assignment. Uses of the whole compare.
// All parts would change, also those of replicas that took no part in the run.
TEST_F(ShardedErrors, OfAnArgumentThatAReplicaLacks) {
  testing::asserts("SEM-293");
  const auto some = PerReplica<float>::from({1.0F, std::nullopt, 3.0F});
  const auto change = [](Tensor<float>& part, float more) { scale(part, more); };
  const ErrorReport report =
      report_of([&] { strategy.cross_replica().update(table, change, some); });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(report.summary, HasSubstr("no component of replica 1"));
  EXPECT_THAT(report.hint, HasSubstr("table.on(replica)"));
  EXPECT_THAT(elements(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(ShardedErrors, OfATensorThatLostItsShape) {
  testing::asserts("SEM-281");
  strategy.run([&](ReplicaContext& replica) {
    Tensor<float>& rows = table.on(replica);
    if (replica.replica_id() == 1) rows = Tensor<float>::zeros({3});
  });
  Checkpoint checkpoint(strategy);
  checkpoint.add(table);
  const std::vector<std::function<void()>> uses{
      [&] { strategy.read(table); }, [&] { checkpoint.contents(); },
      [&] { strategy.run([&](ReplicaContext& replica) { table.whole(replica); }); }};
  for (const auto& use : uses) {
    const ErrorReport report = report_of(use);
    EXPECT_EQ(report.code, ErrorCode::kShape);
    ASSERT_FALSE(report.replicas.empty());
    EXPECT_EQ(report.replicas[0].replica_id, 1);
  }
}

TEST_F(ShardedErrors, OfReplicasThatTakeNoPart) {
  testing::asserts("SEM-282");
  detail::ReplicaArray<int> two(2);
  for (const int id : {0, 1}) two.emplace_back(id);
  const PerReplica<int> some(std::move(two), detail::Participants(3, {0, 1}));
  const ErrorReport report = report_of(
      [&] { strategy.run([&](ReplicaContext& replica, int) { table.whole(replica); }, some); });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
}

TEST_F(ShardedErrors, OfReplicasThatMakeOtherVariables) {
  testing::asserts("SEM-280");
  EXPECT_EQ(code_of([&] {
              strategy.run([&](ReplicaContext& replica) {
                const auto make = [&](Axis axis) {
                  return replica.strategy().sharded_variable(
                      [] { return Tensor<float>::zeros({2, 2}); }, axis, {.name = "square"});
                };
                return replica.replica_id() == 1 ? make(Axis(1)) : make(Axis(0));
              });
            }),
            ErrorCode::kVariableMismatch);
}

TEST_F(ShardedErrors, OfAFileWithAnotherShapeOrType) {
  testing::asserts("SEM-283");
  Checkpoint checkpoint(strategy);
  checkpoint.add(table);
  const TensorFile file = checkpoint.contents();
  TensorFile other = file;
  other.tensors.at("table").shape = Shape({5, 1});
  EXPECT_THAT(to_string(report_of([&] { checkpoint.restore(other); })),
              HasSubstr("\"table\" is float32[5,1] in the file"));
  other = file;
  other.tensors.at("table").dtype = DType::kInt32;
  EXPECT_EQ(code_of([&] { checkpoint.restore(other); }), ErrorCode::kVariableMismatch);
  other.tensors.clear();
  EXPECT_EQ(code_of([&] { checkpoint.restore(other); }), ErrorCode::kVariableMismatch);
  EXPECT_THAT(elements(), ElementsAre(1, 2, 3, 4, 5));
  const auto twin = strategy.mirrored_variable(1.0, {.name = "table"});
  EXPECT_EQ(code_of([&] { checkpoint.add(twin); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([&] { checkpoint.add(table); }), ErrorCode::kInvalidArgument);
}

TEST_F(ShardedErrors, PrintsAsASharedOutVariable) {
  EXPECT_THAT(to_string(table), HasSubstr("sharded variable \"table\" on"));
  EXPECT_EQ(to_string(ShardedVariable<float>()), "no variable");
  EXPECT_EQ(table.shared_state()->about().kind, "sharded");  // In traces.
}

}  // namespace
}  // namespace belfry::testing
