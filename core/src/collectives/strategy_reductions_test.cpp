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

// 2^24: in float, L + 1 is a tie that goes to L, so (L + 1) + 1 is L, and L + (1 + 1) is L + 2.
constexpr float kLarge = 16777216.0F;

class Orders : public ::testing::Test {
 protected:
  // The sum of one float a replica, as a tensor or as a host leaf, on replica 0.
  float sum(std::optional<ReductionOrder> order, std::vector<float> values, bool tensor) {
    HostBackend backend(static_cast<int>(values.size()));
    MirroredStrategy strategy(backend, {.order = order});
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      const float own = values[static_cast<std::size_t>(replica.replica_id())];
      if (!tensor) return replica.all_reduce(ReduceOp::kSum, own);
      return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({1}, own)).item();
    });
    EXPECT_THAT(sums, Each(sums[0]));
    return sums[0];
  }
};

TEST_F(Orders, AreWhatTheirNamesSay) {
  testing::asserts("SEM-32");
  for (bool tensor : {false, true}) {
    SCOPED_TRACE(tensor ? "tensor" : "host");
    // ((L + 1) + 1) + 1 = L; (L + 1) + (1 + 1) = L + 2.
    EXPECT_EQ(sum(ReductionOrder::kReplicaOrder, {kLarge, 1, 1, 1}, tensor), kLarge);
    EXPECT_EQ(sum(ReductionOrder::kTree, {kLarge, 1, 1, 1}, tensor), kLarge + 2);
    // Element 0 of a ring starts at replica 0.
    EXPECT_EQ(sum(ReductionOrder::kRing, {kLarge, 1, 1, 1}, tensor), kLarge);
    // Five: ((x0 + x1) + (x2 + x3)) + x4.
    EXPECT_EQ(sum(ReductionOrder::kTree, {1, 1, 1, 1, kLarge}, tensor), kLarge + 4);
    EXPECT_EQ(sum(ReductionOrder::kReplicaOrder, {1, 1, 1, 1, kLarge}, tensor), kLarge + 4);
    // ((1 + 1) + (L + 1)) + 1 = (L + 2) + 1, and L + 3 is a tie that goes to L + 4.
    EXPECT_EQ(sum(ReductionOrder::kTree, {1, 1, kLarge, 1, 1}, tensor), kLarge + 4);
  }
}

TEST_F(Orders, OfHostLeavesIsByReplicaUnlessAskedForAnother) {
  testing::asserts("SEM-21", "SEM-32");
  EXPECT_EQ(sum(std::nullopt, {kLarge, 1, 1, 1}, false), kLarge);
}

TEST_F(Orders, OfARingTurnsWithTheChunk) {
  testing::asserts("SEM-32");
  HostBackend backend(3);
  MirroredStrategy strategy(backend, {.order = ReductionOrder::kRing});
  testing::at_each_place(3, [&](int odd) {
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      // Replica `odd` brings large numbers, the others bring ones.
      const float own = replica.replica_id() == odd ? kLarge : 1.0F;
      return replica.all_reduce(ReduceOp::kSum, std::vector<float>(5, own));
    });
    // Two chunks of two elements and a chunk of one element start at the replicas 0, 1 and 2. Only
    // the last large number meets the sum of the ones: (1 + 1) + L.
    const int chunk = (odd + 1) % 3;
    for (int i = 0; i < 5; ++i) {
      const float expected = i / 2 == chunk ? kLarge + 2 : kLarge;
      for (const std::vector<float>& each : sums) {
        EXPECT_EQ(each[static_cast<std::size_t>(i)], expected) << "element " << i;
      }
    }
  });
}

TEST(StrategyReductions, LeavesWhatOthersHoldAsItWas) {
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  const auto kept = strategy.run([](ReplicaContext& replica) {
    const auto own = Tensor<float>::full({2}, 1.0F + replica.replica_id());
    const Tensor<float> copy = own;
    const auto sum = replica.all_reduce(ReduceOp::kSum, own);
    return std::vector<float>{own.to_host()[0], copy.to_host()[1], sum.to_host()[0]};
  });
  EXPECT_THAT(kept[0], ElementsAre(1, 1, 3));
  EXPECT_THAT(kept[1], ElementsAre(2, 2, 3));
}

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

TEST(StrategyReductions, TakesEmptyTensorsAndVectors) {
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  const auto counts = strategy.run([](ReplicaContext& replica) {
    const auto none = replica.all_reduce(ReduceOp::kMean, Tensor<double>::zeros({0, 3}));
    return none.shape() == Shape{0, 3} &&
           replica.all_reduce(ReduceOp::kSum, std::vector<int>()).empty();
  });
  EXPECT_THAT(counts, Each(true));
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

TEST(StrategyReductions, ReducesManyTensorsOfSeveralTypes) {
  for (const std::optional<ReductionOrder> order :
       {std::optional<ReductionOrder>(), std::optional(ReductionOrder::kTree)}) {
    HostBackend backend(3);
    MirroredStrategy strategy(backend, {.order = order});
    const auto own = strategy.run([](ReplicaContext& r) {
      const int id = r.replica_id();
      return std::tuple(tensors_of<float>(id), tensors_of<int>(id), tensors_of<std::uint8_t>(id));
    });
    const auto sums = strategy.cross_replica().reduce(ReduceOp::kSum, own);
    for (int replica = 0; replica < 3; ++replica) {
      const auto& [floats, integers, bytes] = sums[replica];
      expect_sums(floats, 3);
      expect_sums(integers, 3);
      expect_sums(bytes, 3);
    }
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
