// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Algorithms of reductions as options of strategies (SEM-146).
#include "belfry/cross_device_ops.h"

#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace belfry::cross_device_ops_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 2^24: in float, L + 1 is a tie that goes to L.
constexpr float kLarge = 16777216.0F;

// The values {L, 1, -L, 1} of four replicas in each of four elements, summed on each replica.
std::vector<float> sum_of_large_and_small(Strategy& strategy) {
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const float values[] = {kLarge, 1.0F, -kLarge, 1.0F};
    const auto own = Tensor<float>::full({4}, values[replica.replica_id()]);
    return replica.all_reduce(ReduceOp::kSum, own).to_host();
  });
  EXPECT_THAT(sums, Each(sums[0]));
  return sums[0];
}

// The memory of a device that no replica uses tells where the additions were.
TEST(Algorithms, AddOnTheNamedDevice) {
  testing::asserts("SEM-32", "SEM-146");
  HostBackend backend(5);
  const DeviceSpec beside = backend.device_spec(0);
  const std::vector<DeviceSpec> devices = backend.devices();
  StrategyOptions options{.devices = {devices.begin() + 1, devices.end()}};
  options.cross_device_ops = std::make_shared<ReductionToOneDevice>(beside);
  MirroredStrategy strategy(backend, options);
  EXPECT_EQ(backend.device(0).memory().peak_bytes, 0U);
  EXPECT_THAT(sum_of_large_and_small(strategy), ElementsAre(1, 1, 1, 1));
  // Four inputs and a result of 16 bytes each.
  EXPECT_EQ(backend.device(0).memory().peak_bytes, 80U);
  EXPECT_FALSE(options.cross_device_ops->plan(4).has_value());
  options.cross_device_ops = std::make_shared<ReductionToOneDevice>(DeviceSpec::parse("/gpu:0"));
  try {
    const MirroredStrategy refused(backend, options);
    FAIL() << "the backend has no GPU";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnknownDevice);
  }
}

std::string refusal(Backend& backend, std::shared_ptr<CrossDeviceOps> algorithm,
                    ReductionOrder order) {
  try {
    MirroredStrategy strategy(backend, {.order = order, .cross_device_ops = std::move(algorithm)});
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(Algorithms, AreSetBetweenRuns) {
  HostBackend backend(4);
  MirroredStrategy strategy(backend);
  strategy.configure({.cross_device_ops = std::make_shared<RingAllReduce>()});
  EXPECT_THAT(sum_of_large_and_small(strategy), ElementsAre(1, 2, 2, 0));
  EXPECT_THROW(strategy.configure({.order = ReductionOrder::kTree,
                                   .cross_device_ops = std::make_shared<RingAllReduce>()}),
               InvalidArgumentError);
  EXPECT_THAT(sum_of_large_and_small(strategy), ElementsAre(1, 2, 2, 0)) << "nothing was set";
  strategy.configure({});
  EXPECT_THAT(sum_of_large_and_small(strategy), ElementsAre(1, 1, 1, 1));
}

std::int64_t sum_of_ids(Backend& backend, const std::shared_ptr<CrossDeviceOps>& algorithm) {
  MirroredStrategy strategy(backend, {.cross_device_ops = algorithm});
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto own = Tensor<std::int64_t>::full({3}, replica.replica_id() + 1);
    return replica.all_reduce(ReduceOp::kSum, own).to_host();
  });
  for (const auto& each : sums) EXPECT_THAT(each, Each(sums[0][0]));
  return sums[0][0];
}

TEST(Algorithms, ServeStrategiesOfSeveralThreadsAtOnce) {
  testing::asserts("SEM-146");
  const std::vector<std::shared_ptr<CrossDeviceOps>> algorithms{
      std::make_shared<NativeAllReduce>(), std::make_shared<ReductionToOneDevice>(),
      std::make_shared<RingAllReduce>()};
  for (const auto& algorithm : algorithms) {
    std::vector<std::int64_t> sums(4, 0);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        HostBackend backend(thread + 1);
        for (int round = 0; round < 20; ++round) {
          sums[static_cast<std::size_t>(thread)] = sum_of_ids(backend, algorithm);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(sums, ElementsAre(1, 3, 6, 10)) << algorithm->name();
  }
}

// A user's algorithm: notes what it is given, and leaves the work to another algorithm.
class Noting final : public CrossDeviceOps {
 public:
  std::string_view name() const override { return "noting"; }
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kTree; }
  void all_reduce(const TensorReduction& reduction) override {
    types.push_back(reduction.parts.front().input.dtype);
    tensors += reduction.tensors();
    members.push_back(reduction.members);
    has_communicator.push_back(reduction.communicator() != nullptr);
    TensorReduction own = reduction;
    own.order = ReductionOrder::kTree;
    ReductionToOneDevice().all_reduce(own);
  }

  std::vector<DType> types;
  std::size_t tensors = 0;
  std::vector<std::size_t> members;
  std::vector<bool> has_communicator;
};

TEST(UsersAlgorithm, GetsTheTensorsOfEachElementTypeInOneCall) {
  HostBackend backend(2);
  const auto algorithm = std::make_shared<Noting>();
  MirroredStrategy strategy(backend, {.cross_device_ops = algorithm});
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto f = Tensor<float>::full({2}, 1.0F);
    const auto i = Tensor<int>::full({2}, 2);
    const auto [a, b, c, d] = replica.all_reduce(ReduceOp::kSum, std::tuple(f, f, i, 3.0));
    return std::vector<double>{a.to_host()[0], b.to_host()[1], 1.0 * c.to_host()[0], d};
  });
  EXPECT_THAT(sums, Each(ElementsAre(2, 2, 4, 6)));
  EXPECT_THAT(algorithm->types, ElementsAre(DType::kFloat32, DType::kInt32));
  EXPECT_EQ(algorithm->tensors, 3U) << "the double is a host leaf";
  EXPECT_THAT(algorithm->members, Each(2U));
  EXPECT_THAT(algorithm->has_communicator, Each(true));
}

TEST(UsersAlgorithm, HasItsOwnOrderAloneUnlessItSaysMore) {
  HostBackend backend(2);
  EXPECT_EQ(refusal(backend, std::make_shared<Noting>(), ReductionOrder::kTree), "");
  EXPECT_THAT(refusal(backend, std::make_shared<Noting>(), ReductionOrder::kReplicaOrder),
              HasSubstr("the algorithm 'noting' cannot add in replica order"));
}

TEST(UsersAlgorithm, IsSharedWithItsStrategies) {
  HostBackend backend(2);
  std::weak_ptr<CrossDeviceOps> seen;
  {
    auto algorithm = std::make_shared<Noting>();
    seen = algorithm;
    MirroredStrategy strategy(backend, {.cross_device_ops = std::move(algorithm)});
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_TRUE(seen.expired());
}

class Failing final : public CrossDeviceOps {
 public:
  std::string_view name() const override { return "failing"; }
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kUnspecified; }
  void all_reduce(const TensorReduction&) override {
    if (calls++ == 0) throw std::runtime_error("the cable is out");
  }
  int calls = 0;
};

TEST(UsersAlgorithm, ThrowsToTheCallerAndTheStrategyStaysUsable) {
  testing::asserts("SEM-146");
  HostBackend backend(2);
  MirroredStrategy strategy(backend, {.cross_device_ops = std::make_shared<Failing>()});
  const auto reduce = [&] {
    strategy.run([](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({1}, 1.0F));
    });
  };
  EXPECT_THROW(reduce(), std::runtime_error);
  EXPECT_NO_THROW(reduce());
}

// A communicator that adds floats alone, and throws for all else.
class FloatsOnly final : public Communicator {
 public:
  explicit FloatsOnly(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  int size() const override { return inner_->size(); }
  std::span<const int> local_ranks() const override { return inner_->local_ranks(); }
  ReductionOrder order() const override { return inner_->order(); }
  bool supports(DType dtype) const override { return dtype == DType::kFloat32; }
  void run(const Collective& collective) override {
    calls += 1;
    if (!supports(collective.parts.front().input.dtype)) throw std::logic_error("not a float");
    inner_->run(collective);
  }
  void check_health() override { inner_->check_health(); }

  static inline int calls = 0;

 private:
  std::unique_ptr<Communicator> inner_;
};

class FloatsOnlyBackend final : public Backend {
 public:
  std::string_view name() const override { return "floats only"; }
  int device_count() const override { return inner_.device_count(); }
  DeviceSpec device_spec(int index) const override { return inner_.device_spec(index); }
  Device& device(int index) override { return inner_.device(index); }
  std::unique_ptr<Communicator> communicator(std::span<const int> devices) override {
    return std::make_unique<FloatsOnly>(inner_.communicator(devices));
  }
  Executor& executor() override { return inner_.executor(); }
  RunSettings run_settings() const override { return {.verifies_mirrored = true}; }

 private:
  HostBackend inner_{3};
};

TEST(NativeAlgorithm, AsksTheCommunicatorForElementTypesAndNeverTries) {
  for (const bool is_named : {false, true}) {
    FloatsOnly::calls = 0;
    FloatsOnlyBackend backend;
    StrategyOptions options;
    if (is_named) options.cross_device_ops = std::make_shared<NativeAllReduce>();
    MirroredStrategy strategy(backend, options);
    const auto sums = strategy.run([](ReplicaContext& replica) {
      const auto own = std::pair(Tensor<float>::full({2}, 1.0F), Tensor<int>::full({2}, 2));
      const auto [floats, integers] = replica.all_reduce(ReduceOp::kSum, own);
      return std::pair(floats.to_host(), integers.to_host());
    });
    for (const auto& [floats, integers] : sums) {
      EXPECT_THAT(floats, Each(3));
      EXPECT_THAT(integers, Each(6));
    }
    EXPECT_EQ(FloatsOnly::calls, 1);
  }
}

}  // namespace
}  // namespace belfry::cross_device_ops_test
