// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/tensor.h"
#include "device.h"
#include "nccl_clique.h"
#include "support_test.h"
#include "trap.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

// Properties that only a real GPU can show, and no suite covers.
namespace belfry::cuda::gpu_test {
namespace {

constexpr int kGpus[] = {0};

/// A device with a communicator of NCCL for a single rank, which the backend itself never makes.
struct OneRank {
  explicit OneRank(bool warm_up) {
    shared->options.warm_up = warm_up;
    clique.emplace(shared, std::vector<Device*>{&device});
  }

  BufferView view(const std::vector<float>& values) {
    const BufferView made =
        view_of(device.allocate(values.size() * sizeof(float), device.communication_stream()),
                DType::kFloat32);
    device.communication_stream().write(made, values.data());
    return made;
  }
  std::vector<float> read(const BufferView& from) {
    std::vector<float> values(from.count);
    device.communication_stream().read(values.data(), from);
    return values;
  }

  std::shared_ptr<SharedState> shared = std::make_shared<SharedState>();
  Device device{shared, {.index = 0, .gpu = 0}, kGpus};
  std::optional<NcclClique> clique;
};

TEST(NcclOnOneGpu, GivesEveryCollectiveOfOneRank) {
  OneRank one(true);
  const std::vector<float> given{1.5F, -2.0F, 1e30F};
  const BufferView input = one.view(given);
  const auto is_given_by = [&](auto&& collective) {
    const BufferView output = one.view({0, 0, 0});
    collective(std::vector<CollectivePart>{{input, output, &one.device.communication_stream()}});
    return one.read(output) == given;
  };
  NcclClique& clique = *one.clique;
  EXPECT_TRUE(is_given_by([&](const auto& parts) {
    clique.run({.kind = CollectiveKind::kAllReduce, .parts = parts});
  }));
  EXPECT_TRUE(is_given_by([&](const auto& parts) {
    clique.run({.kind = CollectiveKind::kAllReduce, .parts = parts, .op = ReduceOp::kMean});
  }));
  EXPECT_TRUE(is_given_by([&](const auto& parts) {
    clique.run({.kind = CollectiveKind::kBroadcast, .parts = parts, .root = 0});
  }));
  EXPECT_TRUE(is_given_by([&](const auto& parts) {
    clique.run({.kind = CollectiveKind::kAllGather, .parts = parts});
  }));
  clique.check_health();
  EXPECT_EQ(one.shared->counters.snapshot().nccl_collectives, 6U) << "two of them warmed up";
}

TEST(NcclOnOneGpu, CommunicatorsCanBeMadeAgain) {
  for (int time = 0; time < 3; ++time) {
    OneRank one(false);
    one.clique->check_health();
  }
}

// NCCL reports the error later, while making the communicators.
TEST(NcclOnOneGpu, TwoRanksAreRefused) {
  try {
    const NcclCommunicators two({0, 0}, std::chrono::seconds(30), std::nullopt);
    FAIL() << "NCCL takes one rank for each GPU";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeviceLost);
    EXPECT_NE(std::string(error.what()).find("ncclInvalidUsage"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("Duplicate GPU"), std::string::npos) << error.what();
  }
  OneRank after(false);
  after.clique->check_health();
}

TEST(MemoryOfAGpu, IsRefusedAndThereAgain) {
  Backend backend(Options::fit(2));
  belfry::Device& device = backend.device(0);
  const std::size_t everything = device.memory().limit_bytes;
  ASSERT_GT(everything, 0U);
  const auto allocate = [&](std::size_t bytes) {
    return device.allocate(bytes, device.compute_stream());
  };
  EXPECT_EQ(test::code_of([&] { static_cast<void>(allocate(everything + 1)); }),
            ErrorCode::kOutOfMemory)
      << "belfry's count says so";
  // Two devices share the GPU, and neither may allocate all memory: CUDA itself reports the error.
  belfry::Device& other = backend.device(1);
  const BufferPtr most = allocate(everything / 10 * 6);
  EXPECT_EQ(test::code_of([&] {
              static_cast<void>(other.allocate(everything / 10 * 6, other.compute_stream()));
            }),
            ErrorCode::kOutOfMemory);
  EXPECT_EQ(other.memory().live_bytes, 0U);
  EXPECT_EQ(device.memory().live_bytes, everything / 10 * 6);
}

int steps_on_a_lost_gpu() {
  Backend backend(Options::fit(4));
  MirroredStrategy strategy(backend);
  const auto step = [&] {
    const auto sums = strategy.run([](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({3}, 1.0F));
    });
    return sums[3].to_host()[2];
  };
  if (step() != 4.0F) return 1;
  test::lose_the_gpu();
  for (int time = 0; time < 2; ++time) {
    try {
      step();
      return 2;
    } catch (const Error& error) {
      std::cerr << error.what() << '\n';
      if (error.code() != ErrorCode::kDeviceLost) return 3;
    }
  }
  return 0;
}

// In a separate process: CUDA returns a failed GPU to no process.
TEST(ALostGpuDeathTest, IsReportedAtEveryStepAndBlocksNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(steps_on_a_lost_gpu()), ::testing::ExitedWithCode(0),
              "cudaErrorLaunchFailure");
}

}  // namespace
}  // namespace belfry::cuda::gpu_test
