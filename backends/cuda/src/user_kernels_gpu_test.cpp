// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Bodies of users' kernels on a real GPU. Random programs of kernels: KernelMixes in proptests_gpu.
#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/launch.h"
#include "scale_and_add.h"
#include "slow_fill.h"
#include "support_test.h"
#include "trap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>

namespace belfry::cuda::user_kernels_gpu_test {
namespace {

using test::code_of;
using test::ScaleAndAdd;
using test::SlowFill;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Throws {
  void on_cuda(cudaStream_t, std::span<float>) const { throw std::runtime_error("no step"); }
};

struct Errs {
  void on_cuda(cudaStream_t stream, std::span<float> x) const {
    cudaMemcpyAsync(x.data(), x.data(), 1, static_cast<cudaMemcpyKind>(7), stream);
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

// Copies between devices are in streams of their own, and the kernels of SlowFill last longer than
// the host needs for all launches.
TEST_F(UserKernelsOnAGpu, WaitForCopiesAndCopiesForThem) {
  const Placement other{&backend_, 1};
  auto x = Tensor<float>::uninitialised({1000}, on_);
  launch(SlowFill{2}, writes(x));
  auto y = x.copy_to(other);
  launch(ScaleAndAdd{10}, updates(x), reads(x));
  launch(ScaleAndAdd{1}, updates(y), reads(y));
  const auto back = y.copy_to(on_);
  launch(SlowFill{5}, writes(y));
  EXPECT_EQ(x.to_host()[999], 22);
  EXPECT_EQ(y.to_host()[999], 5);
  EXPECT_EQ(back.to_host()[999], 4);
}

TEST_F(UserKernelsOnAGpu, ThrowAtTheLaunch) {
  auto y = Tensor<float>::full({2}, 1, on_);
  EXPECT_THROW(launch(Throws(), updates(y)), std::runtime_error);
  EXPECT_EQ(code_of([&] { launch(Errs(), updates(y)); }), ErrorCode::kDeviceLost);
  EXPECT_EQ(code_of([&] { launch(ForTheHost(), updates(y)); }), ErrorCode::kUnsupported);
  EXPECT_THAT(y.to_host(), ElementsAre(1, 1));
}

TEST_F(UserKernelsOnAGpu, NameTheLaunchOfABadConfiguration) {
  auto y = Tensor<float>::full({2}, 1, on_);
  const auto x = Tensor<float>::full({2}, 1, on_);
  // The code that CUDA has for the same launch without belfry depends on the version of CUDA.
  const ScaleAndAdd refused{.scale = 1, .threads = 4096};
  std::array<float, 2> host{};
  refused.on_cuda(nullptr, host, host);
  const cudaError_t code = cudaGetLastError();
  ASSERT_NE(code, cudaSuccess);
  const int line = __LINE__ + 2;
  try {
    launch(refused, updates(y), reads(x));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeviceLost);
    EXPECT_THAT(error.report().summary,
                HasSubstr(std::string("kernel ScaleAndAdd: cudaGetLastError failed: ") +
                          cudaGetErrorName(code)));
    EXPECT_EQ(error.report().site.line, line);
  }
  launch(ScaleAndAdd{.scale = 2}, updates(y), reads(x));
  EXPECT_THAT(y.to_host(), ElementsAre(3, 3)) << "the GPU is not lost";
}

// The launch returns, and each wait reports the failure of the work.
int waits_after_a_failed_kernel() {
  Backend backend(Options::fit(2));
  auto x = Tensor<float>::full({2}, 1, {&backend, 0});
  launch(test::Traps(), updates(x));
  for (int time = 0; time < 2; ++time) {
    try {
      x.to_host();
      return 2;
    } catch (const DeviceError& error) {
      std::cerr << error.what() << '\n';
      if (error.code() != ErrorCode::kDeviceLost) return 3;
    }
  }
  return 0;
}

// In a separate process: CUDA returns a failed GPU to no process.
TEST(AFailedKernelDeathTest, IsReportedByEachWait) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(waits_after_a_failed_kernel()), ::testing::ExitedWithCode(0),
              "cudaErrorLaunchFailure");
}

}  // namespace
}  // namespace belfry::cuda::user_kernels_gpu_test
