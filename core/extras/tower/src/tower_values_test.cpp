// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The values, getters and datasets of belfry/tower.h.
#include "belfry/backend/host_backend.h"
#include "belfry/dataset.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/code_of.h"
#include "belfry/tower.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::tower_values_test {
namespace {

using ::testing::AllOf;
using testing::code_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TowerValues : public ::testing::Test {
 protected:
  HostBackend backend_{3};
  tower::MirroredStrategy distribution_{backend_};
};

TEST_F(TowerValues, OfEitherKindAreDistributed) {
  static_assert(std::is_convertible_v<tower::MirroredValue<int>, tower::DistributedValue<int>>);
  static_assert(std::is_convertible_v<tower::PerDevice<int>, tower::DistributedValue<int>>);
  const std::vector<tower::DistributedValue<int>> values{tower::broadcast(distribution_, 3),
                                                         tower::PerDevice<int>{10, 20, 30}};
  const auto sums = tower::for_each_tower(
      distribution_, [](const std::vector<int>& own) { return own[0] + own[1]; }, values);
  EXPECT_THAT(sums, ElementsAre(13, 23, 33));
  const tower::DistributedValue<int> seven = tower::broadcast(distribution_, 7);
  EXPECT_THAT(tower::unwrap(distribution_, seven), ElementsAre(7, 7, 7));
  EXPECT_EQ(tower::broadcast(distribution_, 1, seven).devices(), backend_.devices());
  const auto passed = tower::run(distribution_, [&](tower::TowerContext& ctx) {
    return tower::merge_call(
        ctx,
        [](tower::DistributionStrategy&, const tower::DistributedValue<int>& all) {
          return all[2] + all.size();
        },
        seven);
  });
  EXPECT_THAT(passed, Each(10));
}

TEST_F(TowerValues, AreReducedAsWhatTheyWereMadeOf) {
  const tower::DistributedValue<int> mirrored = tower::broadcast(distribution_, 5);
  EXPECT_EQ(tower::reduce(distribution_, "mean", mirrored).value(), 5);
  EXPECT_EQ(tower::reduce(distribution_, "mean", mirrored, backend_.device_spec(2)).value(), 5);
  EXPECT_THAT(error_of([&] { tower::reduce(distribution_, "sum", mirrored); }),
              AllOf(HasSubstr("BF-037"), HasSubstr("tower_values_test.cpp")));
  const tower::DistributedValue<int> each{1, 2, 4};
  EXPECT_EQ(tower::reduce(distribution_, "sum", each).value(), 7);
  EXPECT_EQ(tower::reduce_to(distribution_, "sum", each, backend_.device_spec(1)).value(), 7);
}

struct Plain {
  std::unique_ptr<int> own;
};

TEST_F(TowerValues, OfAnyTypeAreHandedOut) {
  static_assert(tower::Distributable<double> && tower::Distributable<Tensor<float>>);
  static_assert(tower::Distributable<std::string> && tower::Distributable<Plain>);
  static_assert(!tower::Distributable<void> && !tower::Distributable<int&>);
  static_assert(!tower::Distributable<const int> && !tower::Distributable<int[2]>);
  const tower::DistributedValue<std::string> names{"a", "b", "c"};
  EXPECT_THAT(tower::for_each_tower(
                  distribution_, [](const std::string& s) { return s + s; }, names),
              ElementsAre("aa", "bb", "cc"));
  const auto made =
      distribution_.distribute_values([](int id) { return Plain{std::make_unique<int>(id)}; });
  EXPECT_THAT(tower::for_each_tower(
                  distribution_, [](const Plain& own) { return *own.own; }, made),
              ElementsAre(0, 1, 2));
}

TEST_F(TowerValues, MadeThroughAGetterFollowIt) {
  static_assert(std::is_base_of_v<tower::VariableGetter, tower::ReductionVariableGetter>);
  static_assert(std::is_base_of_v<tower::VariableGetter, tower::ColocatedVariableGetter>);
  const DeviceSpec last = backend_.device_spec(2);
  const auto beside = [&] {
    const auto scope = distribution_.variable_creator_scope(tower::ColocatedVariableGetter({last}));
    return distribution_.mirrored_variable(1);
  }();
  EXPECT_THAT(beside.devices(), ElementsAre(last));
  // A getter may be part of another.
  const tower::VariableGetter both = [&](VariableOptions& options) {
    tower::ColocatedVariableGetter{beside}(options);
    options.name = "both";
  };
  const auto scope = distribution_.variable_creator_scope(both);
  EXPECT_THAT(distribution_.mirrored_variable(1).devices(), ElementsAre(last));
  const auto means =
      distribution_.variable_creator_scope(tower::ReductionVariableGetter(ReduceOp::kMean));
  const auto local = distribution_.variable(1.0);
  EXPECT_EQ(local.synchronization(), Synchronization::kOnRead);
  EXPECT_EQ(local.aggregation(), Aggregation::kMean);
  EXPECT_EQ(local.name(), "both");
  EXPECT_EQ(distribution_.mirrored_variable(1).synchronization(), Synchronization::kOnWrite);
}

TEST_F(TowerValues, OfNoPlaceHaveNoGetter) {
  EXPECT_EQ(code_of([] { tower::ColocatedVariableGetter getter({}); }), ErrorCode::kNoDevices);
  EXPECT_EQ(code_of([] { tower::ColocatedVariableGetter getter{MirroredVariable<int>()}; }),
            ErrorCode::kVariableEmpty);
  EXPECT_EQ(code_of([] { tower::ReductionVariableGetter getter("median"); }),
            ErrorCode::kInvalidArgument);
}

TEST_F(TowerValues, OfSeveralArraysAreExamplesTogether) {
  const std::vector<float> images{1, 3, 5};
  const std::vector<int> labels{2, 4, 6};
  const auto pairs =
      tower::experimental_make_numpy_dataset(distribution_, std::pair{images, labels});
  static_assert(std::is_same_v<decltype(pairs), const Dataset<std::pair<float, int>>>);
  std::vector<std::pair<float, int>> seen;
  for (const auto& example : pairs) seen.push_back(example);
  EXPECT_THAT(seen, ElementsAre(std::pair(1.0F, 2), std::pair(3.0F, 4), std::pair(5.0F, 6)));
  auto iterator = tower::experimental_distribute_dataset(
      distribution_, pairs.batch(3), {.end_of_data = EndOfData::kDropPartialStep});
  const auto step = iterator.get_next();
  EXPECT_EQ(step[2], std::pair(std::vector{5.0F}, std::vector{6}));
  const auto three = tower::experimental_make_numpy_dataset(
      distribution_, std::tuple{images, labels, std::vector<bool>{true, false, true}});
  std::vector<std::tuple<float, int, bool>> rows;
  for (const auto& example : three) rows.push_back(example);
  EXPECT_EQ(rows[1], std::tuple(3.0F, 4, false));
}

// The odd array stands at each place in turn.
TEST_F(TowerValues, OfArraysOfOtherLengthsAreNoExamples) {
  for (std::size_t odd = 0; odd < 3; ++odd) {
    std::tuple<std::vector<int>, std::vector<int>, std::vector<int>> arrays{{1, 2}, {1, 2}, {1, 2}};
    (odd == 0   ? std::get<0>(arrays)
     : odd == 1 ? std::get<1>(arrays)
                : std::get<2>(arrays))
        .push_back(3);
    EXPECT_THAT(error_of([&] { tower::experimental_make_numpy_dataset(distribution_, arrays); }),
                AllOf(HasSubstr("BF-"), HasSubstr("elements in one dataset"),
                      HasSubstr("tower_values_test.cpp")));
  }
  EXPECT_EQ(code_of([&] {
              tower::experimental_make_numpy_dataset(
                  distribution_, std::pair{std::vector<int>{1}, std::vector<int>{}});
            }),
            ErrorCode::kShape);
}

}  // namespace
}  // namespace belfry::tower_values_test
