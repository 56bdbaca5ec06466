// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "support_test.h"

#include <cstdint>

namespace belfry::driver::cuda_test {
namespace {

using test::allocate;
using test::last_report;
using test::make_event;
using test::make_pool;
using test::make_stream;
using test::read;
using test::write;

TEST(CudaOnDriver, WorkRunsOnlyDuringWaits) {
  const sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 2);
  ASSERT_EQ(write(data, {1, 2}, stream), cudaSuccess);
  // A question takes a step: a loop of questions ends.
  cudaEvent_t event = make_event();
  ASSERT_EQ(write(data, {3, 4}, stream), cudaSuccess);
  ASSERT_EQ(write(data, {5, 6}, stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  std::vector<int> found(2);
  ASSERT_EQ(read(found, data, stream), cudaSuccess);
  EXPECT_EQ(found, (std::vector<int>{5, 6}));
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
}

TEST(CudaOnDriver, ReadsOfUnwrittenMemoryAreReported) {
  const sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 4);
  ASSERT_EQ(write(data, {1, 2, 3}, stream), cudaSuccess);
  std::vector<int> found(4);
  EXPECT_EQ(read(found, data, stream), cudaErrorIllegalAddress);
  EXPECT_NE(last_report(machine).find("[12, 16)"), std::string::npos) << last_report(machine);
  EXPECT_NE(std::string(cudaGetErrorString(cudaErrorIllegalAddress)).find("[12, 16)"),
            std::string::npos)
      << "the text says what the code cannot";
}

// A GPU's driver may crash on the first two.
TEST(CudaOnDriver, HandlesOfTheDestroyedAreErrors) {
  const sim::SimulatedDriver machine({.gpus = 2});
  cudaStream_t stream = make_stream();
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  cudaEvent_t event = make_event(1);
  EXPECT_EQ(cudaEventRecord(event, make_stream(0)), cudaErrorInvalidResourceHandle);
  EXPECT_NE(last_report(machine).find("an event of GPU 1"), std::string::npos);
}

TEST(CudaOnDriver, AFreeThatOvertakesItsUseIsFoundInSomeOrder) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
    cudaStream_t home = make_stream();
    cudaStream_t other = make_stream();
    cudaMemPool_t pool = make_pool();
    int* data = allocate(pool, home, 1);
    int* copy = allocate(pool, other, 1);
    ASSERT_EQ(write(data, {1}, home), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(home), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(copy, data, 4, cudaMemcpyDeviceToDevice, other), cudaSuccess);
    ASSERT_EQ(cudaFreeAsync(data, home), cudaSuccess);
    // In some of the orders the free runs first.
    found += cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
  }
  EXPECT_GT(found, 0);
  EXPECT_LT(found, 40);
}

TEST(CudaOnDriver, ReportsPoolsDestroyedBeforeTheirMemory) {
  const sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t stream = make_stream();
  for (const bool waits : {false, true}) {
    cudaMemPool_t pool = make_pool();
    int* data = allocate(pool, stream, 1);
    ASSERT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
    EXPECT_EQ(waits ? cudaStreamSynchronize(stream) : cudaSuccess, cudaSuccess);
    ASSERT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
    EXPECT_EQ(machine.reports().size(), 1U) << "of the first alone";
  }
  EXPECT_NE(last_report(machine).find("before what is to be freed to it"), std::string::npos);
}

TEST(CudaOnDriver, CopiesOfNothingNeedNoMemory) {
  const sim::SimulatedDriver machine({.gpus = 2});
  cudaStream_t stream = make_stream();
  EXPECT_EQ(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeerAsync(nullptr, 1, nullptr, 0, 0, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST(CudaOnDriver, WithoutGpusNoGpuIsCurrent) {
  const sim::SimulatedDriver machine({.gpus = 0});
  int gpu = -1;
  EXPECT_EQ(cudaGetDevice(&gpu), cudaErrorNoDevice);
  EXPECT_EQ(gpu, -1);
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaErrorNoDevice);
}

TEST(CudaOnDriver, PeersNeedAccess) {
  const sim::SimulatedDriver machine({.gpus = 2, .peer_access = false});
  int can = 1;
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 0);
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
  EXPECT_EQ(cudaMemPoolSetAccess(make_pool(0), &access, 1), cudaErrorPeerAccessUnsupported);
}

// A copy of the default kind to pinned memory runs late; the memory counts as written before.
TEST(CudaOnDriver, CopiesBetweenPinnedMemoryAndGpus) {
  const sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t stream = make_stream();
  int* data = allocate(make_pool(), stream, 1);
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 2 * sizeof(int)), cudaSuccess);
  pinned[0] = 7;
  pinned[1] = 8;
  const auto copy = [&](int* to, const int* from) {
    return cudaMemcpyAsync(to, from, sizeof(int), cudaMemcpyDefault, stream);
  };
  ASSERT_EQ(copy(data, pinned), cudaSuccess);
  ASSERT_EQ(copy(pinned + 1, data), cudaSuccess);
  EXPECT_EQ(pinned[1], 8) << "nobody has waited";
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(pinned[1], 7);
  pinned[0] = 9;
  ASSERT_EQ(copy(pinned + 1, pinned), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(pinned[1], 9);
  EXPECT_EQ(cudaMemcpyAsync(pinned, data, sizeof(int), cudaMemcpyDeviceToDevice, stream),
            cudaErrorInvalidValue)
      << "the kind says that both are memory of GPUs";
  ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST(CudaOnDriver, AllocatesOnStreamsOfTheGpuOfThePool) {
  const sim::SimulatedDriver machine({.gpus = 2});
  void* data = nullptr;
  EXPECT_EQ(cudaMallocFromPoolAsync(&data, 8, make_pool(0), make_stream(1)), cudaErrorInvalidValue);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(cudaMallocFromPoolAsync(&data, 8, make_pool(1), make_stream(1)), cudaSuccess);
}

TEST(CudaOnDriver, CountsFreeMemoryByWhatIsInUseNow) {
  const sim::SimulatedDriver machine({.gpus = 1, .memory_bytes = 1000});
  cudaStream_t stream = make_stream();
  cudaMemPool_t pool = make_pool();
  int* first = allocate(pool, stream, 100);
  static_cast<void>(allocate(pool, stream, 25));
  ASSERT_EQ(cudaFreeAsync(first, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 900U);
  EXPECT_EQ(total, 1000U);
}

TEST(CudaOnDriver, CopiesAmongPeersCheckBothEnds) {
  const sim::SimulatedDriver machine({.gpus = 2});
  cudaStream_t stream = make_stream(0);
  int* here = allocate(make_pool(0), stream, 2);
  int* there = allocate(make_pool(1), make_stream(1), 2);
  ASSERT_EQ(write(here, {1, 2}, stream), cudaSuccess);
  const auto copied = [&](int* to, int to_gpu, const int* from, int from_gpu, std::size_t bytes) {
    return cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, stream);
  };
  EXPECT_EQ(copied(there, 1, here, 0, 8), cudaSuccess);
  EXPECT_EQ(copied(there, 0, here, 0, 8), cudaErrorInvalidValue);
  EXPECT_NE(last_report(machine).find("destination on its GPU"), std::string::npos);
  EXPECT_EQ(copied(there, 1, here, 1, 8), cudaErrorInvalidValue);
  EXPECT_NE(last_report(machine).find("source on its GPU"), std::string::npos);
  EXPECT_EQ(copied(there, 1, here + 1, 0, 8), cudaErrorInvalidValue) << "beyond the source";
  EXPECT_EQ(copied(there + 1, 1, here, 0, 8), cudaErrorInvalidValue) << "beyond the destination";
}

TEST(CudaOnDriver, TakesNoFlagsOfWaits) {
  const sim::SimulatedDriver machine({.gpus = 1});
  EXPECT_EQ(cudaStreamWaitEvent(make_stream(), make_event(), 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamWaitEvent(make_stream(), make_event(), 0), cudaSuccess);
}

TEST(CudaOnDriver, AQueryTellsOfAFailure) {
  const sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t stream = make_stream();
  cudaMemPool_t pool = make_pool();
  int* from = allocate(pool, stream, 1);
  int* to = allocate(pool, stream, 1);
  ASSERT_EQ(cudaMemcpyAsync(to, from, 4, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
}

TEST(CudaOnDriver, PlannedFailuresComeWhenTheyAreDue) {
  sim::SimulatedDriver machine({.gpus = 1});
  machine.fail("cudaStreamSynchronize", 2, cudaErrorECCUncorrectable);
  cudaStream_t stream = make_stream();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorECCUncorrectable);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(machine.calls("cudaStreamSynchronize"), 3U);
  EXPECT_EQ(std::string(cudaGetErrorName(cudaErrorECCUncorrectable)), "cudaErrorECCUncorrectable");
}

TEST(CudaOnDriver, ListsLivingObjects) {
  const sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t stream = make_stream();
  static_cast<void>(allocate(make_pool(), stream, 1));
  static_cast<void>(make_event());
  EXPECT_EQ(machine.alive(),
            (std::vector<std::string>{"1 streams", "1 events", "1 memory pools", "1 allocations"}));
}

TEST(CudaOnDriver, MachinesDifferInWhatTheyHave) {
  int count = 77;
  {
    const sim::SimulatedDriver machine({.installed = false});
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_EQ(count, 77) << "left as it was, as by the real one";
    ASSERT_EQ(cudaDriverGetVersion(&count), cudaSuccess);
    EXPECT_EQ(count, 0);
  }
  {
    const sim::SimulatedDriver machine({.gpus = 0});
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  }
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 8) << "without an object";
}

}  // namespace
}  // namespace belfry::driver::cuda_test
