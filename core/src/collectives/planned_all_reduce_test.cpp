// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Algorithms that carry out plans: sums to the last bit, as the stated additions give them.
#include "belfry/planned_all_reduce.h"

#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::planned_all_reduce_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 2^24: in float, L + 1 is a tie that goes to L.
constexpr float kLarge = 16777216.0F;

// The sums on replica 0 of a value for each replica, in each of four elements.
std::vector<float> sums_of(const std::vector<float>& values,
                           std::shared_ptr<CrossDeviceOps> algorithm) {
  HostBackend backend(static_cast<int>(values.size()));
  MirroredStrategy strategy(backend, {.cross_device_ops = std::move(algorithm)});
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    const float own = values[static_cast<std::size_t>(replica.replica_id())];
    return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({4}, own)).to_host();
  });
  for (const auto& each : sums) EXPECT_EQ(each, sums[0]);
  return sums[0];
}

// Replicas add to the sums of their neighbours, down to replica 0; replica 0 gives all the result.
class Chain final : public PlannedAllReduce {
 public:
  std::string_view name() const override { return "chain"; }
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kUnspecified; }
  std::optional<ReductionPlan> plan(int members) const override {
    ReductionPlan plan{.members = members};
    std::vector<ReductionPlan::Copy> copies;
    for (int member = members - 1; member > 0; --member) {
      plan.sums.push_back({{member - 1, {}, {member - 1, member}}});
      copies.push_back({0, member, {}});
    }
    if (members > 1) plan.copies.push_back(copies);
    return plan;
  }
};

TEST(PlannedAlgorithms, OfUsersAreAPlan) {
  testing::asserts("SEM-147");
  // L + (1 + (-L + 1)): -L + 1 and the rest are exact, 2 - L + L = 2.
  EXPECT_THAT(sums_of({kLarge, 1, -kLarge, 1}, std::make_shared<Chain>()), Each(2));
  EXPECT_EQ(to_string(Chain().plan(4)->additions(0)), "(x0 + (x1 + (x2 + x3)))");
}

class Planless final : public PlannedAllReduce {
 public:
  std::string_view name() const override { return "planless"; }
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kUnspecified; }
  std::optional<ReductionPlan> plan(int) const override { return TreeAllReduce().plan(3); }
};

TEST(PlannedAlgorithms, WithoutAPlanForTheMembersAreRefused) {
  testing::asserts("SEM-147");
  try {
    sums_of({1, 2}, std::make_shared<Planless>());
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the algorithm 'planless' has no plan for 2 members"));
  }
}

std::string refusal(std::vector<std::vector<int>> groups, int devices) {
  try {
    HostBackend backend(devices);
    MirroredStrategy strategy(
        backend, {.cross_device_ops = std::make_shared<HierarchicalAllReduce>(std::move(groups))});
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "";
}

TEST(PlannedAlgorithms, WithWrongOptionsAreRefused) {
  const std::string wrong = "lack a replica, have one twice, or have an empty group";
  EXPECT_THAT(refusal({{0, 1}, {1}}, 3), HasSubstr(wrong));
  EXPECT_THAT(refusal({{0}, {2}}, 3), HasSubstr(wrong));
  EXPECT_THAT(refusal({{0, 1}, {}}, 2), HasSubstr(wrong));
  EXPECT_THAT(refusal({{0, 1}, {2}}, 2), HasSubstr("have 3 replicas, and the strategy has 2"));
  EXPECT_EQ(refusal({{2, 1}, {0}}, 3), "");
  EXPECT_THROW(ShuffleAllReduce(-1), InvalidArgumentError);
}

// Rows A01 to A06 with every algorithm.
TEST(PlannedAlgorithms, A02_A03_A05_A06_SumAndMeanOfSmallIntegers) {
  const std::vector<std::shared_ptr<CrossDeviceOps>> algorithms{
      std::make_shared<ReductionToOneDevice>(), std::make_shared<RingAllReduce>(),
      std::make_shared<TreeAllReduce>(),        std::make_shared<HalvingDoublingAllReduce>(),
      std::make_shared<ShuffleAllReduce>(),     std::make_shared<HierarchicalAllReduce>(),
      std::make_shared<NativeAllReduce>()};
  for (const auto& algorithm : algorithms) {
    for (const int members : {1, 2, 4}) {
      HostBackend backend(members);
      MirroredStrategy strategy(backend, {.cross_device_ops = algorithm});
      const auto results = strategy.run([](ReplicaContext& replica) {
        const auto id = static_cast<float>(replica.replica_id());
        const auto x = Tensor<float>::full({}, id + 1);
        const auto pair = Tensor<float>::from({2}, {2 * id + 1, 2 * id + 2});
        return std::tuple(replica.all_reduce(ReduceOp::kSum, x).to_host()[0],
                          replica.all_reduce(ReduceOp::kMean, x).to_host()[0],
                          replica.all_reduce(ReduceOp::kSum, pair).to_host(),
                          replica.all_reduce(ReduceOp::kMean, pair).to_host());
      });
      const auto& [sum, mean, sums, means] = results[members - 1];
      const float n = static_cast<float>(members);
      EXPECT_EQ(sum, members == 1 ? 1 : members == 2 ? 3 : 10) << algorithm->name();
      EXPECT_EQ(mean, members == 1 ? 1 : members == 2 ? 1.5F : 2.5F);
      EXPECT_THAT(sums, ElementsAre(n * n, n * n + n));
      EXPECT_THAT(means, ElementsAre(n, n + 1));
    }
  }
}

}  // namespace
}  // namespace belfry::planned_all_reduce_test
