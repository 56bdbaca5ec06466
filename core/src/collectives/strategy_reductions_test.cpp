// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/strategy_reductions.h"

#include "belfry/backend/host_backend.h"
#include "belfry/nest.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::strategy_reductions_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(StrategyReductions, BringsTensorsToTheirReplicasDevice) {
  testing::asserts("SEM-21");
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  testing::at_each_place(3, [&](int odd) {
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      const auto elsewhere = Tensor<float>::full({1}, 2.0F, strategy.placement(odd));
      const auto sum = replica.all_reduce(ReduceOp::kSum, elsewhere);
      return std::pair(sum.item(), sum.placement() == replica.placement());
    });
    EXPECT_THAT(sums, Each(std::pair(6.0F, true)));
  });
}

// More than are reduced at once, of different lengths.
template <class T>
std::vector<Tensor<T>> tensors_of(int replica) {
  std::vector<Tensor<T>> tensors;
  for (int i = 0; i < 40; ++i) tensors.push_back(Tensor<T>::full({1 + i % 7}, T(i + replica)));
  return tensors;
}

template <class T>
void expect_sums(const std::vector<Tensor<T>>& sums, int replicas) {
  ASSERT_EQ(sums.size(), 40U);
  for (int i = 0; i < 40; ++i) {
    const auto expected = T(replicas * i + replicas * (replicas - 1) / 2);
    const std::vector<T> host = sums[static_cast<std::size_t>(i)].to_host();
    EXPECT_EQ(host, std::vector<T>(static_cast<std::size_t>(1 + i % 7), expected)) << i;
  }
}

// Small results share storage, and are written by themselves all the same.
TEST(StrategyReductions, GivesResultsThatAreWrittenOneByOne) {
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  const auto rows =
      strategy.run([](ReplicaContext& r) { return tensors_of<float>(r.replica_id()); });
  auto sums = strategy.cross_replica().reduce(ReduceOp::kSum, rows)[1];
  for (std::size_t i = 0; i < sums.size(); i += 2) scale(sums[i], 0.0F);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float expected = i % 2 == 0 ? 0.0F : 2.0F * static_cast<float>(i) + 1;
    EXPECT_THAT(sums[i].to_host(), Each(expected)) << i;
  }
}

TEST(StrategyReductions, TakesABatchAsOneReduction) {
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  const PerReplica<int> ones{1, 2};
  const PerReplica<float> halves{0.5F, 1.5F};
  const auto rows =
      strategy.run([](ReplicaContext& r) { return tensors_of<float>(r.replica_id()); });
  const auto [a, b, c] =
      strategy.cross_replica().batch_reduce(ReduceOp::kSum, ones, rows, std::pair(halves, ones));
  EXPECT_EQ(a.value(), 3);
  for (const int replica : {0, 1}) {
    expect_sums(b[replica], 2);
    EXPECT_EQ(c[replica], 2.0F);
  }
  const ReductionStatistics statistics = strategy.statistics().reduction;
  EXPECT_EQ(statistics.reductions, 1U);
  EXPECT_EQ(statistics.host_leaves, 2U);
  EXPECT_EQ(statistics.tensor_leaves, 40U);
}

TEST(StrategyReductions, CountsLeavesAndBytes) {
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  strategy.run([](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum,
                       std::tuple(1.0, std::vector<float>(3), Tensor<std::int8_t>::zeros({5})));
  });
  const ReductionStatistics statistics = strategy.statistics().reduction;
  EXPECT_EQ(statistics.reductions, 1U);
  EXPECT_EQ(statistics.host_leaves, 2U);
  EXPECT_EQ(statistics.tensor_leaves, 1U);
  EXPECT_EQ(statistics.bytes, 2U * (8 + 12 + 5));
}

// A backend whose devices are joined by nothing.
class Unjoined final : public Backend {
 public:
  std::string_view name() const override { return "unjoined"; }
  int device_count() const override { return inner_.device_count(); }
  DeviceSpec device_spec(int index) const override { return inner_.device_spec(index); }
  Device& device(int index) override { return inner_.device(index); }
  std::unique_ptr<Communicator> communicator(std::span<const int>) override {
    throw UnsupportedError(ErrorCode::kUnsupported, "no communicator");
  }
  Executor& executor() override { return inner_.executor(); }
  RunSettings run_settings() const override { return {.verifies_mirrored = true}; }

 private:
  HostBackend inner_{3};
};

TEST(StrategyReductions, DoesWithoutACommunicator) {
  for (const std::optional<ReductionOrder> order :
       {std::optional<ReductionOrder>(), std::optional(ReductionOrder::kTree)}) {
    Unjoined backend;
    MirroredStrategy strategy(backend, {.order = order});
    const auto results = strategy.run([](ReplicaContext& replica) {
      const auto own = Tensor<float>::full({1}, 1.0F + replica.replica_id());
      return std::pair(replica.all_reduce(ReduceOp::kSum, own).item(),
                       replica.all_gather(own).to_host());
    });
    for (const auto& [sum, all] : results) {
      EXPECT_EQ(sum, 6);
      EXPECT_THAT(all, ElementsAre(1, 2, 3));
    }
  }
}

TEST(StrategyReductions, RefusesBeforeAnythingChanges) {
  HostBackend backend(2);
  detail::StrategyReductions reductions(backend, {0, 1});
  double sums[2] = {1, 2};
  int counts[2] = {3, 4};
  const std::vector<std::vector<LeafRef>> parts{
      {{DType::kFloat64, 1, &sums[0]}, {DType::kInt32, 1, &counts[0]}},
      {{DType::kFloat64, 1, &sums[1]}, {DType::kInt32, 1, &counts[1]}}};
  EXPECT_THROW(reductions.all_reduce(ReduceOp::kMean, parts, true, detail::Participants(2)),
               InvalidArgumentError);
  EXPECT_THAT(sums, ElementsAre(1, 2));
  reductions.all_reduce(ReduceOp::kSum, parts, true, detail::Participants(2));
  EXPECT_THAT(sums, Each(3));
  EXPECT_THAT(counts, Each(7));
}

}  // namespace
}  // namespace belfry::strategy_reductions_test
