// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The calls of ordinary programs: default streams, and calls that wait.
#include "support_test.h"

#include <cstdint>
#include <functional>

namespace belfry::driver::ordinary_calls_test {
namespace {

using test::make_stream;

constexpr std::uint64_t kSeeds = 40;
constexpr std::size_t kBytes = 2 * sizeof(int);

int* allocate() {
  int* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, kBytes), cudaSuccess);
  return data;
}

std::vector<int> read_now(const int* data) {
  std::vector<int> values(2);
  EXPECT_EQ(cudaMemcpy(values.data(), data, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
  return values;
}

/// The number of seeds whose machine is right in `test`.
int right(const std::function<bool()>& test) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
    count += test() ? 1 : 0;
  }
  return count;
}

TEST(OrdinaryCalls, CopyThereAndBack) {
  const sim::SimulatedDriver machine({.gpus = 1});
  int* data = allocate();
  const std::vector<int> values{5, 6};
  EXPECT_EQ(cudaMemcpy(data, values.data(), kBytes, cudaMemcpyHostToDevice), cudaSuccess);
  int* other = allocate();
  EXPECT_EQ(cudaMemcpy(other, data, kBytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(read_now(other), values);
  EXPECT_EQ(cudaMemset(other, 1, sizeof(int)), cudaSuccess);
  EXPECT_EQ(read_now(other), (std::vector<int>{0x01010101, 6}));
  std::vector<int> found(2);
  EXPECT_EQ(cudaMemcpy(found.data(), data, kBytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(found, values);
  EXPECT_EQ(cudaMemcpy(data, values.data(), kBytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(found.data(), values.data(), kBytes, cudaMemcpyDefault),
            cudaErrorInvalidMemcpyDirection);
}

TEST(OrdinaryCalls, FreeMemoryOnce) {
  const sim::SimulatedDriver machine({.gpus = 1});
  int* data = allocate();
  int* pinned = nullptr;
  EXPECT_EQ(cudaMallocHost(&pinned, kBytes), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data, 0, kBytes), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess) << "after the memset";
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(machine.alive(), std::vector<std::string>{});
}

/// Whether a copy to the host on the default stream sees the bytes that `stream` has written.
bool default_stream_sees(cudaStream_t stream) {
  int* data = allocate();
  EXPECT_EQ(cudaMemsetAsync(data, 1, kBytes, stream), cudaSuccess);
  std::vector<int> found(2);
  return cudaMemcpy(found.data(), data, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess;
}

TEST(OrdinaryCalls, TheDefaultStreamWaitsForBlockingStreams) {
  EXPECT_EQ(right([] {
              cudaStream_t blocking = nullptr;
              EXPECT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
              return default_stream_sees(blocking);
            }),
            static_cast<int>(kSeeds));
  const int other = right([] { return default_stream_sees(make_stream()); });
  EXPECT_LT(other, static_cast<int>(kSeeds)) << "no other stream is waited for";
}

/// Whether a copy on `stream` sees the bytes that the default stream has written.
bool sees_default_stream(cudaStream_t stream) {
  int* data = allocate();
  int* copy = allocate();
  EXPECT_EQ(cudaMemset(data, 1, kBytes), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(copy, data, kBytes, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
  return cudaStreamSynchronize(stream) == cudaSuccess;
}

TEST(OrdinaryCalls, BlockingStreamsWaitForTheDefaultStream) {
  EXPECT_EQ(right([] {
              cudaStream_t blocking = nullptr;
              EXPECT_EQ(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault), cudaSuccess);
              return sees_default_stream(blocking);
            }),
            static_cast<int>(kSeeds));
  const int other = right([] { return sees_default_stream(make_stream()); });
  EXPECT_LT(other, static_cast<int>(kSeeds)) << "no other stream waits";
}

TEST(OrdinaryCalls, EveryGpuHasADefaultStreamOfItsOwn) {
  const sim::SimulatedDriver machine({.gpus = 2});
  int* data[2] = {};
  for (int gpu : {0, 1}) {
    EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
    data[gpu] = allocate();
    EXPECT_EQ(cudaMemset(data[gpu], 1 + gpu, kBytes), cudaSuccess);
  }
  EXPECT_EQ(read_now(data[1]), std::vector<int>(2, 0x02020202));
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(read_now(data[0]), std::vector<int>(2, 0x01010101));
}

TEST(OrdinaryCalls, ADestroyedBlockingStreamIsForgotten) {
  const sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t blocking = nullptr;
  EXPECT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(blocking), cudaSuccess);
  int* data = allocate();
  EXPECT_EQ(cudaMemset(data, 0, kBytes), cudaSuccess);
  EXPECT_EQ(read_now(data), std::vector<int>(2, 0));
  EXPECT_EQ(cudaStreamSynchronize(blocking), cudaErrorInvalidResourceHandle);
}

}  // namespace
}  // namespace belfry::driver::ordinary_calls_test
