// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The host as a device of the CUDA backend, and the links of its devices.
#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace belfry::cuda::host_place_test {
namespace {

using test::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Links = std::vector<std::vector<int>>;

BufferView filled(Device& host, Stream& stream, std::int64_t value) {
  Kernel fill;
  fill.parameters.integer_scalar = value;
  fill.outputs = {view_of(host.allocate(4, stream), DType::kInt32)};
  const BufferView view = fill.outputs[0];
  stream.launch(std::move(fill));
  return view;
}

// Work on one stream would overwrite the bytes of a second stream if the block of the dropped
// buffer were used again at once.
TEST(HostPlace, MemoryIsKeptUntilWorkIsDone) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
    Backend backend;
    Device& host = backend.device(1);
    static_cast<void>(filled(host, host.compute_stream(), 1));
    const BufferView second = filled(host, host.communication_stream(), 2);
    host.communication_stream().synchronize();
    host.compute_stream().synchronize();
    std::int32_t value = 0;
    host.communication_stream().read(&value, second);
    EXPECT_EQ(value, 2) << seed;
    // The first block has become free.
    static_cast<void>(filled(host, host.compute_stream(), 3));
    EXPECT_EQ(machine.calls("cudaHostAlloc"), 2U);
  }
}

TEST(HostPlace, UsesBlocksOfMemoryAgain) {
  const sim::SimulatedDriver machine({.gpus = 1});
  Backend backend;
  const Placement host{&backend, 1};
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Tensor<float>::full({100}, 1.0F, host).to_host()[99], 1.0F);
  }
  EXPECT_EQ(machine.calls("cudaHostAlloc"), 1U);
  // A block of 64 pages serves no request of a page.
  static_cast<void>(Tensor<float>::full({1 << 16}, 1.0F, host).to_host());
  EXPECT_EQ(machine.calls("cudaHostAlloc"), 2U);
  const auto first = Tensor<float>::full({100}, 1.0F, host);
  const auto second = Tensor<float>::full({100}, 2.0F, host);
  EXPECT_EQ(machine.calls("cudaHostAlloc"), 3U);
  EXPECT_EQ(second.to_host()[0] - first.to_host()[0], 1.0F);
}

TEST(HostPlace, ReportsThatNothingIsLeftToPin) {
  sim::SimulatedDriver machine({.gpus = 1});
  Backend backend;
  Device& host = backend.device(1);
  const auto allocate = [&] { host.allocate(8, host.compute_stream()); };
  constexpr int kNoMemory = 2;  // cudaErrorMemoryAllocation
  machine.fail("cudaHostAlloc", 1, kNoMemory);
  EXPECT_NO_THROW(allocate()) << "the second try succeeds";
  const BufferPtr spare_is_taken = host.allocate(8, host.compute_stream());
  for (int call : {1, 2}) machine.fail("cudaHostAlloc", call, kNoMemory);
  const BufferPtr after_a_wait = host.allocate(8, host.compute_stream());
  for (int call : {1, 2, 3}) machine.fail("cudaHostAlloc", call, kNoMemory);
  EXPECT_EQ(code_of(allocate), ErrorCode::kOutOfMemory);
}

// The host joins no communicator, and strategies add by copies and kernels.
TEST(HostPlace, MayHaveAReplica) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend({.carrier = Carrier::kFiber});
  EXPECT_EQ(code_of([&] { backend.communicator(std::array{0, 2}); }), ErrorCode::kUnsupported);
  EXPECT_EQ(backend.communicator(std::array{2})->size(), 1);
  EXPECT_EQ(backend.gpu(2), 0) << "the GPU that works for the host";
  MirroredStrategy strategy(
      backend, {.devices = {DeviceSpec::parse("/gpu:1"), DeviceSpec::parse("/cpu:0")}});
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto own = Tensor<float>::full({1}, 1.0F + static_cast<float>(replica.replica_id()));
    return replica.all_reduce(ReduceOp::kSum, own).to_host()[0];
  });
  EXPECT_THAT(sums, ElementsAre(3.0F, 3.0F));
  EXPECT_THAT(machine.reports(), IsEmpty());
}

TEST(Links, JoinDevicesOfAGpuAndPeers) {
  {
    const sim::SimulatedDriver machine({.gpus = 4, .peer_group = 2});
    EXPECT_EQ(Backend().connections().links, (Links{{0, 1}, {0, 1}, {2, 3}, {2, 3}}));
    EXPECT_EQ((Backend{{.devices = {3, 0, 2}}}.connections().links), (Links{{0, 2}, {1}, {0, 2}}));
    EXPECT_EQ((Backend{{.devices = {0, 2, 0}}}.connections().links), (Links{{0, 2}, {1}, {0, 2}}));
  }
  const sim::SimulatedDriver machine({.gpus = 2, .peer_access = false});
  EXPECT_EQ(Backend().connections().links, (Links{{0}, {1}}));
}

// Rows C01 and C02 with the answers of CUDA in place of lists.
TEST(Links, C01_C02_OfGpusChooseTheAlgorithm) {
  const auto logged = [] {
    Backend backend;
    std::vector<std::string> lines;
    const MirroredStrategy strategy(
        backend, {.log = [&](const std::string& line) { lines.push_back(line); }});
    return lines;
  };
  {
    const sim::SimulatedDriver machine({.gpus = 8, .peer_group = 4});
    EXPECT_THAT(logged(), ElementsAre(HasSubstr("the links make groups of 4 replicas")));
  }
  const sim::SimulatedDriver machine({.gpus = 4, .peer_group = 4});
  EXPECT_THAT(logged(), ElementsAre(HasSubstr("by the native algorithm")));
}

}  // namespace
}  // namespace belfry::cuda::host_place_test
