// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Kernels of users in the host half of the backend: on the simulated driver, `on_host` stands for
// `on_cuda`.
#include "belfry/backend/current_slot.h"
#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/cuda/per_stream.h"
#include "belfry/launch.h"
#include "belfry/sim/driver.h"
#include "body_for_gpus_test.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace belfry::cuda::user_kernels_test {
namespace {

using test::code_of;
using ::testing::ElementsAre;

struct Calls {
  const std::function<void()>* function;
  void on_host(std::span<float> y) const {
    y[0] = -1;
    (*function)();
  }
};

class UserKernels : public ::testing::Test {
 protected:
  sim::SimulatedDriver machine_{{.gpus = 2}};
  Backend backend_;
  Placement on_{&backend_, 0};
};

// A later call frees the memory of the handles.
TEST(LastHandles, MayEndInABody) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    int owners = 0;
    {
      Backend backend;
      for (const int device : {0, 1}) {
        const Placement on{&backend, device};
        float* memory = nullptr;
        cudaSetDevice(device);
        cudaMalloc(reinterpret_cast<void**>(&memory), sizeof(float));
        // The owner's end calls CUDA.
        const std::shared_ptr<const void> owner(static_cast<const void*>(memory),
                                                [&owners, memory](const void*) {
                                                  owners += 1;
                                                  EXPECT_EQ(cudaFree(memory), cudaSuccess);
                                                });
        auto last = Tensor<float>::full({2}, 1, on);
        auto over = Tensor<float>::over({1}, std::span(memory, 1), on, owner);
        const std::function<void()> end = [&] {
          last = Tensor<float>();
          over = Tensor<float>();
        };
        auto y = Tensor<float>::full({2}, 1, on);
        launch(Calls{&end}, updates(y));
        EXPECT_THAT(y.to_host(), ElementsAre(-1, 1));
      }
      for (const int device : {0, 1}) {
        EXPECT_EQ(backend.device(device).memory().live_buffers, 0U);
      }
    }
    EXPECT_EQ(owners, 2);
    EXPECT_TRUE(machine.reports().empty());
    EXPECT_TRUE(machine.alive().empty());
  }
}

// A host function of CUDA may not call CUDA, either. The machine is locked while a body runs.
TEST_F(UserKernels, MayNotCallCuda) {
  cudaError_t code = cudaSuccess;
  const std::function<void()> ask = [&] { code = cudaDeviceSynchronize(); };
  auto y = Tensor<float>::full({1}, 1, on_);
  launch(Calls{&ask}, updates(y));
  EXPECT_THAT(y.to_host(), ElementsAre(-1));
  EXPECT_EQ(code, cudaErrorNotPermitted);
  ASSERT_EQ(machine_.reports().size(), 1U);
  EXPECT_EQ(machine_.reports()[0],
            "cudaDeviceSynchronize: the body of a kernel calls CUDA or NCCL");
}

// The stream converts to the type of CUDA, and the place of each operand is right: a launch without
// a device calls the erased body itself.
TEST(BodiesForGpus, GetTheStreamAndTheSpans) {
  struct Records {
    cudaStream_t* stream;
    std::size_t* counts;
    void on_cuda(cudaStream_t on, std::span<std::byte> memory, std::span<float> z,
                 std::span<const float> x) const {
      *stream = on;
      counts[0] = memory.size();
      counts[1] = z.size();
      counts[2] = x.size();
    }
  };
  cudaStream_t stream = nullptr;
  std::size_t counts[3] = {};
  using Scratch = belfry::detail::TypedOperand<OperandMode::kScratch, std::byte>;
  using Out = belfry::detail::TypedOperand<OperandMode::kWrites, float>;
  using In = belfry::detail::TypedOperand<OperandMode::kReads, float>;
  KernelCall call;
  call.kind = KernelKind::kUser;
  call.outputs = {{nullptr, 5, DType::kFloat32}, {nullptr, 16, DType::kUInt8}};
  call.inputs = {{nullptr, 7, DType::kFloat32}};
  call.user = std::make_shared<const belfry::detail::KernelBody<Records, Scratch, Out, In>>(
      Records{&stream, counts});
  int place = 0;
  enqueue_user_kernel(call, NativeStream(&place));
  EXPECT_EQ(static_cast<void*>(stream), &place);
  EXPECT_THAT(counts, ElementsAre(16, 5, 7));
}

// A copy of no direction.
struct Errs {
  void on_cuda(cudaStream_t stream) const {
    char byte = 0;
    cudaMemcpyAsync(&byte, &byte, 1, static_cast<cudaMemcpyKind>(7), stream);
  }
};
struct Throws {
  void on_cuda(cudaStream_t) const {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a negative rate");
  }
};

TEST_F(UserKernels, ReportErrorsOfBodiesForGpusAtTheLaunch) {
  const CallSite place{"step.cpp", 12};
  const auto report_of = [&](const auto& kernel) {
    const belfry::detail::SiteScope scope(place);
    try {
      test::call_on_cuda(test::compute_stream(backend_, 1), kernel);
    } catch (const Error& error) {
      return error.report();
    }
    return ErrorReport{};
  };
  const ErrorReport failed = report_of(Errs());
  EXPECT_EQ(failed.code, ErrorCode::kDeviceLost);
  EXPECT_THAT(failed.summary,
              ::testing::StartsWith("kernel Errs: cudaGetLastError failed: cudaErrorInvalid"));
  EXPECT_EQ(failed.site.line, 12);
  const ErrorReport thrown = report_of(Throws());
  EXPECT_EQ(thrown.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(thrown.summary, "kernel Throws: a negative rate");
  EXPECT_EQ(thrown.site.line, 12);
}

struct Nothing {};
struct AsksForAnObject {
  void on_host(std::span<float>) const { per_stream<Nothing>(nullptr); }
};

TEST_F(UserKernels, HaveNoObjectsOfStreamsInBodiesForTheHost) {
  auto y = Tensor<float>::full({1}, 1, on_);
  launch(AsksForAnObject(), updates(y));
  EXPECT_EQ(code_of([&] { y.to_host(); }), ErrorCode::kWrongContext);
}

}  // namespace
}  // namespace belfry::cuda::user_kernels_test
