// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"

#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <chrono>
#include <string>
#include <vector>

namespace belfry::cuda::backend_test {
namespace {

using test::code_of;

std::string message_of(Options options) {
  try {
    const Backend backend(std::move(options));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<int> gpus_of(const Backend& backend) {
  std::vector<int> gpus;
  for (int index = 0; index < backend.device_count(); ++index) gpus.push_back(backend.gpu(index));
  return gpus;
}

// The text of an initializer is compiled, and compared with the text of the options that the
// initializer makes.
#define EXPECT_PRINTS_ITSELF(...) \
  EXPECT_EQ(::testing::PrintToString(::belfry::cuda::Options __VA_ARGS__), #__VA_ARGS__)

TEST(CudaBackend, PrintsItsOptionsAndCounters) {
  EXPECT_PRINTS_ITSELF({});
  EXPECT_PRINTS_ITSELF({.devices = {2, 0, 2},
                        .replicas_per_gpu = 2,
                        .fitted = 3,
                        .carrier = belfry::cuda::Carrier::kBaton,
                        .memory_limit_bytes = 4096,
                        .deadline = std::chrono::milliseconds{500},
                        .warm_up = false,
                        .launches_block = true,
                        .verify_mirrored = true});
  EXPECT_EQ(::testing::PrintToString(Carrier::kFiber), "fiber");
  EXPECT_EQ(::testing::PrintToString(Statistics{}), "no calls");
  EXPECT_EQ(::testing::PrintToString(Statistics{.kernel_launches = 4, .event_waits = 1}),
            "kernel launches 4; event waits 1");
}

TEST(CudaBackend, ReportsAMissingDriver) {
  const sim::SimulatedDriver machine({.installed = false});
  EXPECT_EQ(code_of([] { const Backend backend; }), ErrorCode::kNoDriver);
  EXPECT_NE(message_of({}).find("no NVIDIA driver"), std::string::npos) << message_of({});
}

TEST(CudaBackend, ReportsAMissingGpu) {
  const sim::SimulatedDriver machine({.gpus = 0});
  EXPECT_EQ(code_of([] { const Backend backend; }), ErrorCode::kNoDriver);
  EXPECT_NE(message_of({}).find("cudaErrorNoDevice"), std::string::npos) << message_of({});
}

TEST(CudaBackend, HasEveryGpuUnlessTold) {
  const sim::SimulatedDriver machine({.gpus = 3});
  EXPECT_EQ(gpus_of(Backend()), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(gpus_of(Backend{{.replicas_per_gpu = 2}}), (std::vector<int>{0, 0, 1, 1, 2, 2}));
  const Backend named{{.devices = {2, 0, 2}}};
  EXPECT_EQ(gpus_of(named), (std::vector<int>{2, 0, 2}));
  EXPECT_EQ(to_string(named.device_spec(1)), "/job:localhost/replica:0/task:0/device:GPU:1");
}

TEST(CudaBackend, FitsReplicasToTheMachine) {
  const sim::SimulatedDriver machine({.gpus = 2});
  EXPECT_EQ(gpus_of(Backend(Options::fit(1))), (std::vector<int>{0}));
  EXPECT_EQ(gpus_of(Backend(Options::fit(2))), (std::vector<int>{0, 1}));
  EXPECT_EQ(gpus_of(Backend(Options::fit(5))), (std::vector<int>{0, 0, 0, 1, 1}));
}

TEST(CudaBackend, RefusesOptionsThatDoNotFit) {
  const sim::SimulatedDriver machine({.gpus = 2});
  EXPECT_EQ(code_of([] { const Backend backend{{.devices = {0, 2}}}; }), ErrorCode::kUnknownDevice);
  EXPECT_EQ(code_of([] { const Backend backend{{.devices = {-1}}}; }), ErrorCode::kUnknownDevice);
  EXPECT_EQ(code_of([] { const Backend backend{{.replicas_per_gpu = -1}}; }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([] { const Backend backend(Options::fit(-1)); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([] { const Backend backend{{.carrier = static_cast<Carrier>(3)}}; }),
            ErrorCode::kInvalidArgument);
  Backend backend;
  EXPECT_EQ(code_of([&] { static_cast<void>(backend.device(3)); }), ErrorCode::kUnknownDevice);
}

TEST(CudaBackend, RefusesSeveralGpusWhereLaunchesBlock) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend{{.launches_block = true}};
  const int both[] = {0, 1};
  EXPECT_EQ(code_of([&] { static_cast<void>(backend.communicator(both)); }),
            ErrorCode::kUnsupported);
  const int one[] = {1};
  EXPECT_EQ(backend.communicator(one)->size(), 1);
}

TEST(CudaBackend, KeepsToTheMemoryLimit) {
  const sim::SimulatedDriver machine({.gpus = 1});
  Backend backend{{.devices = {0, 0}, .memory_limit_bytes = 100}};
  belfry::Device& device = backend.device(0);
  const BufferPtr buffer = device.allocate(60, device.compute_stream());
  EXPECT_EQ(code_of([&] { static_cast<void>(device.allocate(41, device.compute_stream())); }),
            ErrorCode::kOutOfMemory);
  EXPECT_EQ(device.memory().live_bytes, 60U);
  EXPECT_EQ(device.memory().limit_bytes, 100U);
  const BufferPtr rest = device.allocate(40, device.compute_stream());
  belfry::Device& other = backend.device(1);
  EXPECT_EQ(other.allocate(100, other.compute_stream())->bytes(), 100U);
}

TEST(CudaBackend, NamesTheCallThatFoundALostDevice) {
  sim::SimulatedDriver machine({.gpus = 1});
  Backend backend{{.replicas_per_gpu = 2}};
  const auto clique = backend.communicator(test::first_ranks(2));
  clique->check_health();
  machine.fail("cudaStreamQuery", 1, 719);
  try {
    clique->check_health();
    FAIL() << "the device was lost";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeviceLost);
    EXPECT_NE(
        std::string(error.what()).find("cudaStreamQuery failed: cudaErrorLaunchFailure (719)"),
        std::string::npos)
        << error.what();
  }
}

TEST(CudaBackend, CountsNoMemoryThatTheDriverRefuses) {
  sim::SimulatedDriver machine({.gpus = 1, .memory_bytes = 1000});
  Backend backend;
  belfry::Device& device = backend.device(0);
  const auto allocate = [&](std::size_t bytes) {
    return code_of([&] { static_cast<void>(device.allocate(bytes, device.compute_stream())); });
  };
  const BufferPtr first = device.allocate(10, device.compute_stream());
  machine.fail("cudaMallocFromPoolAsync", 1, test::kLaunchFailure);
  EXPECT_EQ(allocate(10), ErrorCode::kDeviceLost);
  EXPECT_EQ(device.memory().live_bytes, 10U);
  EXPECT_EQ(allocate(991), ErrorCode::kOutOfMemory);
}

TEST(CudaBackend, LeavesUsersTheirCurrentGpu) {
  const sim::SimulatedDriver machine({.gpus = 3});
  ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
  Backend backend{{.devices = {0, 1}}};
  const int both[] = {0, 1};
  test::Members members(backend);
  backend.communicator(both)->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
  EXPECT_EQ(members.value(1), 3.0F);
  int gpu = -1;
  ASSERT_EQ(cudaGetDevice(&gpu), cudaSuccess);
  EXPECT_EQ(gpu, 2);
}

TEST(CudaBackend, CarriesReplicasAsItIsTold) {
  const sim::SimulatedDriver machine({.gpus = 1});
  EXPECT_EQ(Backend().executor().name(), "concurrent");
  EXPECT_EQ(Backend({.carrier = Carrier::kFiber}).executor().name(), "fiber");
  EXPECT_EQ(Backend({.carrier = Carrier::kBaton}).executor().name(), "baton");
  EXPECT_TRUE(Backend({.verify_mirrored = true}).verifies_mirrored());
}

}  // namespace
}  // namespace belfry::cuda::backend_test
