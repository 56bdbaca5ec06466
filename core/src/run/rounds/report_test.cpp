// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reports of errors: the code, the call, the replica.
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/vjp.h"
#include "run/testing/borrowed_devices.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::report_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr CallSite kHere{"train.cc", 11};
constexpr auto kNoOperator = static_cast<ReduceOp>(99);

class Reports : public ::testing::Test {
 protected:
  static auto says(const std::string& start) {
    return AllOf(StartsWith(start), HasSubstr("\n  at train.cc:11"));
  }

  HostBackend backend_{2};
  HostBackend larger_{3};
  MirroredStrategy strategy_{backend_};
  MirroredStrategy of_three_{larger_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(Reports, PlacementOfNoReplica) {
  EXPECT_EQ(strategy_.placement(1).device, 1);
  for (const int replica : {-1, 2}) {
    EXPECT_THAT(error_of([&] { strategy_.placement(replica, kHere); }),
                says("BF-030 placement of replica " + std::to_string(replica) + " of 2\n"));
  }
}

TEST_F(Reports, NumbersThatStandForNoOperator) {
  const auto is_refused = says("BF-030 reduce_op(99) is no way to reduce values");
  EXPECT_THAT(error_of([&] { strategy_.replica_local_variable(kNoOperator, 1.0, {}, kHere); }),
              is_refused);
  EXPECT_THAT(error_of([&] { strategy_.replica_local_variable_scope(kNoOperator, kHere); }),
              is_refused);
  EXPECT_THAT(error_of([&] { reduce_vjp(cross_, kNoOperator, 1.0, kHere); }), is_refused);
  const PerReplica<double> pair{1.0, 2.0};
  EXPECT_THAT(error_of([&] { reduce_vjp(cross_, kNoOperator, pair, 1.0, kHere); }), is_refused);
}

TEST_F(Reports, ProductsOfValuesOfOtherReplicas) {
  const PerReplica<double> three{1.0, 2.0, 3.0};
  EXPECT_THAT(error_of([&] { reduce_vjp(cross_, ReduceOp::kMean, three, 1.0, kHere); }),
              AllOf(StartsWith("BF-030 "), HasSubstr("\n  at train.cc:11")));
}

TEST_F(Reports, NumbersThatStandForNoSplit) {
  const auto total = strategy_.replica_local_variable(ReduceOp::kSum, 3.0);
  const auto split = static_cast<SumSplit>(9);
  EXPECT_THAT(error_of([&] { cross_.assign_total(total, 8.0, split, kHere); }),
              says("BF-030 split(9) is no way to split a total"));
  EXPECT_EQ(strategy_.read(total), 6.0);
}

TEST_F(Reports, ATotalThatCannotBeSplit) {
  testing::asserts("SEM-57");
  const auto total = strategy_.replica_local_variable(ReduceOp::kSum, false);
  EXPECT_THAT(error_of([&] { cross_.assign_total(total, true, SumSplit::kFirst, kHere); }),
              says("BF-022 bool values have no total"));
}

TEST_F(Reports, ReductionsBetweenRunsNameTheCall) {
  const PerReplica<int> counts{1, 2};
  const PerReplica<std::vector<int>> lists{{1}, {2}};
  EXPECT_THAT(error_of([&] { cross_.reduce(ReduceOp::kMean, counts, kHere); }),
              says("BF-035 MEAN over int32 would lose the remainder"));
  EXPECT_THAT(error_of([&] { cross_.reduce(ReduceOp::kSum, PerReplica<bool>{true, true}, kHere); }),
              says("BF-022 bool values cannot be reduced"));
  EXPECT_THAT(error_of([&] { cross_.reduce(kNoOperator, counts, kHere); }), says("BF-030"));
  EXPECT_THAT(error_of([&] { cross_.batch_reduce_at(kHere, ReduceOp::kMean, counts); }),
              says("BF-035"));
  EXPECT_THAT(error_of([&] { cross_.reduce_mapped(ReduceOp::kMean, lists, kHere); }),
              says("BF-035"));
}

// Values of other participants are other reductions: the index is the index in the whole batch.
TEST_F(Reports, ReductionsOfBatchesNameTheValueAndTheLeaf) {
  using Value = std::tuple<std::optional<double>, std::vector<float>, int>;
  const PerReplica<double> all{1.0, 2.0};
  const auto some = PerReplica<double>::from({1.0, std::nullopt});
  const PerReplica<Value> values{Value(std::nullopt, {}, 1), Value(std::nullopt, {}, 2)};
  EXPECT_THAT(error_of([&] { cross_.batch_reduce(ReduceOp::kMean, all, some, values, kHere); }),
              says("BF-035 MEAN over int32 would lose the remainder at leaf 2[2] in value 2 of the "
                   "batch\n"));
  const auto odd = PerReplica<int>::from({std::nullopt, 1});
  EXPECT_THAT(error_of([&] { cross_.batch_reduce(ReduceOp::kMean, all, some, odd, kHere); }),
              says("BF-035 MEAN over int32 would lose the remainder in value 2 of the batch\n"));
}

TEST_F(Reports, QuestionsToNoVariableNameTheCall) {
  const MirroredVariable<int> none;
  for (const auto& ask : std::vector<std::function<void()>>{
           [&] { static_cast<void>(none.name(kHere)); },
           [&] { static_cast<void>(none.aggregation(kHere)); },
           [&] { static_cast<void>(none.synchronization(kHere)); },
           [&] { static_cast<void>(none.trainable(kHere)); },
           [&] { static_cast<void>(none.devices(kHere)); },
           [&] { static_cast<void>(strategy_.created_in_scope(none, kHere)); }}) {
    EXPECT_THAT(error_of(ask), says("BF-052"));
  }
}

TEST_F(Reports, ErrorsThatLeaveAReplicaNameIt) {
  testing::at_each_place(3, [&](int odd) {
    const std::string name = "  replica " + std::to_string(odd) + "  train.cc:11  threw this ";
    const auto shape = [&](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, 1);
      if (replica.replica_id() == odd) Tensor<float>::from({3}, {1.0F}, kHere);
    };
    EXPECT_EQ(error_of([&] { of_three_.run(shape); }),
              "BF-021 1 values for shape [3]\n"
              "  at train.cc:11\n" +
                  name +
                  "after merge #1\n"
                  "  hint: give one value for each element");
    ASSERT_EQ(of_three_.last_failure()->replicas.size(), 3U);
    const auto memory = [&](ReplicaContext& replica) {
      if (replica.replica_id() == odd) Tensor<float>::zeros({1 << 30, 1 << 30}, kHere);
    };
    EXPECT_THAT(error_of([&] { of_three_.run(memory); }),
                AllOf(says("BF-060"), HasSubstr(name + "before its first")));
  });
}

TEST_F(Reports, ErrorsThatNameAReplicaStay) {
  const auto body = [&](ReplicaContext&) { cross_.broadcast(1, kHere); };
  EXPECT_THAT(error_of([&] { strategy_.run(body); }),
              AllOf(says("BF-001"), Not(HasSubstr("threw this"))));
}

// A device may throw a code under another class than belfry itself does.
TEST_F(Reports, ErrorsOfEveryClassOfBelfryNameTheReplica) {
  const auto body = [](ReplicaContext& replica) {
    if (replica.replica_id() == 1) throw DeviceError(ErrorCode::kOutOfBounds, "s", "", kHere);
  };
  EXPECT_EQ(error_of([&] { strategy_.run(body); }),
            "BF-061 s\n  at train.cc:11\n  replica 1  train.cc:11  threw this before its first "
            "merge");
  EXPECT_THROW(strategy_.run(body), DeviceError);
}

TEST_F(Reports, ErrorsOfBackendsWithoutSchedulesHaveNone) {
  try {
    strategy_.run([](ReplicaContext&) { Tensor<float>::from({3}, {1.0F}); });
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgumentError& error) {
    EXPECT_FALSE(error.report().schedule);
  }
}

// A backend with schedules that are counted.
class CountedSchedules final : public BorrowedDevices, private ScheduleSource {
 public:
  CountedSchedules() : BorrowedDevices(2) {}

  RunSettings run_settings() const override {
    return {.verifies_mirrored = true, .schedules = this};
  }
  ScheduleReport schedule() const override { return {.seed = 0, .token = std::to_string(++asked)}; }

  mutable int asked = 0;
};

// A token may be long: a failed run asks once, and a run that succeeds never asks.
TEST_F(Reports, OfAFailedRunShareASingleSchedule) {
  testing::asserts("SEM-79");
  CountedSchedules backend;
  MirroredStrategy strategy(backend);
  strategy.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1); });
  EXPECT_EQ(backend.asked, 0);
  try {
    strategy.run([](ReplicaContext&) { Tensor<float>::from({3}, {1.0F}); });
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.report().schedule.value().token, "1");
    EXPECT_EQ(strategy.last_failure()->schedule.value().token, "1");
  }
  EXPECT_THROW(strategy.run([](ReplicaContext&) { throw std::runtime_error("mine"); }),
               std::runtime_error);
  EXPECT_EQ(strategy.last_failure()->schedule.value().token, "2");
  EXPECT_EQ(backend.asked, 2);
}

TEST_F(Reports, AddedValuesOfAnotherStructureNameTheVariableAndTheLeaf) {
  using Value = std::pair<double, std::vector<int>>;
  const auto pair = strategy_.replica_local_variable(Aggregation::kOnlyFirst, Value(1.0, {1, 2}),
                                                     {.name = "pair"});
  EXPECT_THAT(error_of([&] {
                strategy_.run([&](ReplicaContext& replica) {
                  replica.assign_add(pair, Value(1.0, {1, 2, 3}), kHere);
                });
              }),
              says("BF-020 a value of another structure cannot be added to pair: the value has "
                   "int32[3] at leaf 1[1], the variable int32[2] at leaf 1[1]"));
}

TEST_F(Reports, VariablesWhoseMeanLosesTheRemainderNameTheLeaf) {
  const auto make = [&] {
    strategy_.mirrored_variable(std::pair(1.0, 0),
                                {.name = "model", .aggregation = Aggregation::kMean}, kHere);
  };
  EXPECT_EQ(error_of(make),
            "BF-035 model holds int32 at leaf 1[1], whose MEAN would lose the remainder\n"
            "  at train.cc:11\n"
            "  hint: for a count that is equal on all replicas, such as a step, aggregate by "
            "only-first; for counts to add up, by sum; for a mean, make it of floating-point "
            "numbers");
  EXPECT_THAT(error_of([&] {
                strategy_.replica_local_variable(ReduceOp::kMean, std::pair(1.0, 0), {}, kHere);
              }),
              HasSubstr("or read it by TruncatedMean{}: replica_local_variable(TruncatedMean{}"));
}

TEST_F(Reports, ErrorsOfTheUsersOwnTypeStay) {
  struct Own : InvalidArgumentError {
    using InvalidArgumentError::InvalidArgumentError;
  };
  const auto body = [](ReplicaContext&) { throw Own(ErrorCode::kInvalidArgument, "mine"); };
  EXPECT_THROW(strategy_.run(body), Own);
}

TEST_F(Reports, TensorsThatNoHostCouldStage) {
  constexpr auto kMany = std::int64_t{1} << 31;
  const Placement place = strategy_.placement(1);
  EXPECT_THAT(error_of([&] { Tensor<float>::full({1 << 30, 1 << 30}, 1.0F, place, kHere); }),
              says("BF-060"));
  EXPECT_THAT(error_of([&] { Tensor<double>::full({kMany, kMany}, 1.0, place, kHere); }),
              says("BF-060"));
}

TEST_F(Reports, ArgumentsOfUpdateNameTheCall) {
  const auto mine = strategy_.mirrored_variable(1);
  const auto foreign = of_three_.mirrored_variable(2, {.name = "theirs"});
  const auto add = [](int& component, int value) { component += value; };
  EXPECT_THAT(error_of([&] { cross_.update(mine, add, foreign, kHere); }), says("BF-004 theirs"));
  EXPECT_THAT(
      error_of([&] { cross_.update_non_slot(strategy_.devices(), [](int) {}, foreign, kHere); }),
      says("BF-004 theirs"));
  const std::vector<int> elements{1};
  const auto map = [&] { cross_.map(elements, [](int, int) { return 1; }, foreign, kHere); };
  EXPECT_THAT(error_of(map), says("BF-004 theirs"));
  EXPECT_EQ(strategy_.read(mine), 1);
}

TEST_F(Reports, MirroredOfOtherReplicas) {
  for (const int replicas : {1, 3}) {
    detail::ReplicaArray<double> shared(1);
    shared.emplace_back(4.0);
    const Mirrored<double> other(replicas, std::move(shared));
    const auto variable = strategy_.mirrored_variable(1.0);
    const auto set = [](double& component, double value) { component = value; };
    const auto get = [](double& component, double value) { return component + value; };
    const std::vector<int> elements{1};
    const std::vector<DeviceSpec> devices = strategy_.devices();
    for (const auto& use : std::vector<std::function<void()>>{
             [&] { cross_.reduce(ReduceOp::kMean, other, kHere); },
             [&] { cross_.reduce(ReduceOp::kMean, other, devices.front(), kHere); },
             [&] { cross_.fetch(other, kHere); },
             [&] { cross_.update(variable, set, other, kHere); },
             [&] { cross_.update_each(variable, get, other, kHere); },
             [&] { cross_.update_non_slot(devices, [](double) {}, other, kHere); },
             [&] { cross_.map(elements, [](int, double) { return 1; }, other, kHere); },
             [&] { strategy_.run([](ReplicaContext&, double) {}, other, kHere); }}) {
      EXPECT_THAT(error_of(use), says("BF-030 a value of " + std::to_string(replicas) +
                                      " replicas in a strategy of 2"));
    }
    EXPECT_EQ(strategy_.read(variable), 1.0);
  }
}

template <class T>
class FullTensors : public ::testing::Test {};
using AllElements = ::testing::Types<float, double, Float16, BFloat16, std::int32_t, std::int64_t,
                                     bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                     std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(FullTensors, AllElements);

TYPED_TEST(FullTensors, HaveTheValueEverywhere) {
  HostBackend backend(1);
  const auto value = static_cast<TypeParam>(std::is_signed_v<TypeParam> ? -3 : 1);
  const auto tensor = Tensor<TypeParam>::full({2, 2}, value, Placement{&backend, 0});
  for (const auto element : tensor.to_host()) {
    EXPECT_EQ(static_cast<double>(element), static_cast<double>(value));
  }
  EXPECT_EQ(Tensor<TypeParam>::full({0}, value, Placement{&backend, 0}).count(), 0);
}

TEST(FullTensor, OfTheLargestNumbers) {
  HostBackend backend(1);
  const Placement place{&backend, 0};
  EXPECT_EQ(Tensor<std::uint64_t>::full({1}, UINT64_MAX, place).item(), UINT64_MAX);
  EXPECT_EQ(Tensor<std::int64_t>::full({1}, INT64_MIN + 1, place).item(), INT64_MIN + 1);
}

}  // namespace
}  // namespace belfry::report_test
