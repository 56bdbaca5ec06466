// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Bodies of users' kernels on a real GPU.
#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/launch.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "scale_and_add.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <stdexcept>

namespace belfry::cuda::user_kernels_gpu_test {
namespace {

using test::code_of;
using test::ScaleAndAdd;
using ::testing::ElementsAre;

// z = x, by way of scratch memory.
struct Copy {
  void on_cuda(cudaStream_t stream, std::span<std::byte> memory, std::span<float> z,
               std::span<const float> x) const {
    cudaMemcpyAsync(memory.data(), x.data(), x.size_bytes(), cudaMemcpyDeviceToDevice, stream);
    cudaMemcpyAsync(z.data(), memory.data(), z.size_bytes(), cudaMemcpyDeviceToDevice, stream);
  }
};

struct Throws {
  void on_cuda(cudaStream_t, std::span<float>) const { throw std::runtime_error("no step"); }
};

struct Errs {
  void on_cuda(cudaStream_t stream, std::span<float> x) const {
    cudaMemcpyAsync(x.data(), x.data(), 1, static_cast<cudaMemcpyKind>(99), stream);
  }
};

struct ForTheHost {
  void on_host(std::span<float>) const {}
};

class UserKernelsOnAGpu : public ::testing::Test {
 protected:
  Backend backend_{{.devices = {0, 0}}};
  Placement on_{&backend_, 0};
};

TEST_F(UserKernelsOnAGpu, RunInOrderWithTheWorkOfTheirStream) {
  auto y = Tensor<float>::full({1000}, 1, on_);
  for (int step = 0; step < 3; ++step) {
    launch(ScaleAndAdd{2}, updates(y), reads(Tensor<float>::full({1000}, 1, on_)));
    y = y + y;
  }
  EXPECT_EQ(y.to_host()[999], 36);  // 1, 6, 16, 36
  auto z = Tensor<float>::uninitialised({1000}, on_);
  launch(Copy(), scratch(4000), writes(z), reads(y));
  EXPECT_EQ(z.to_host()[999], 36);
  MirroredStrategy strategy(backend_);
  const auto sums = strategy.run([](ReplicaContext& replica) {
    auto own = Tensor<float>::full({1}, 1.0F + static_cast<float>(replica.replica_id()));
    launch(ScaleAndAdd{1}, updates(own), reads(own));
    return replica.all_reduce(ReduceOp::kSum, own).item();
  });
  EXPECT_EQ(sums[0], 6);
}

TEST_F(UserKernelsOnAGpu, ThrowAtTheLaunch) {
  auto y = Tensor<float>::full({2}, 1, on_);
  EXPECT_THROW(launch(Throws(), updates(y)), std::runtime_error);
  EXPECT_EQ(code_of([&] { launch(Errs(), updates(y)); }), ErrorCode::kDeviceLost);
  EXPECT_EQ(code_of([&] { launch(ForTheHost(), updates(y)); }), ErrorCode::kUnsupported);
  EXPECT_THAT(y.to_host(), ElementsAre(1, 1));
}

}  // namespace
}  // namespace belfry::cuda::user_kernels_gpu_test
