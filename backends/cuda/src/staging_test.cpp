// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Host memory may be reused as soon as a write returns, however late CUDA reads it.
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace belfry::cuda::staging_test {
namespace {

using ::testing::IsEmpty;

constexpr std::uint64_t kLate = 0;  // The seed of streams that run as late as possible.
constexpr std::size_t kMebibyte = std::size_t{1} << 20;

sim::DriverOptions late(std::uint64_t seed) {
  return {.gpus = 1, .seed = seed, .pageable_read_late = true};
}

// Writes `count` numbers from `first` on, and overwrites them on the host before reading them back.
void expect_taken_in(Backend& backend, std::size_t count, std::int32_t first) {
  belfry::Device& device = backend.device(0);
  belfry::Stream& stream = device.compute_stream();
  const BufferView view =
      view_of(device.allocate(count * sizeof(std::int32_t), stream), DType::kInt32);
  std::vector<std::int32_t> source(count);
  std::iota(source.begin(), source.end(), first);
  const std::vector<std::int32_t> wanted = source;
  stream.write(view, source.data());
  source.assign(count, 0);
  std::vector<std::int32_t> seen(count);
  stream.read(seen.data(), view);
  EXPECT_TRUE(seen == wanted) << count << " numbers from " << first;
}

TEST(Writes, TakePageableMemoryInAtOnce) {
  for (const std::uint64_t seed : {kLate, std::uint64_t{5}}) {
    const sim::SimulatedDriver machine(late(seed));
    Backend backend;
    for (std::int32_t round = 0; round < 3; ++round) expect_taken_in(backend, 1 + round, round);
    EXPECT_THAT(machine.reports(), IsEmpty());
  }
}

TEST(Writes, AcceptMoreBytesThanTheirPinnedMemory) {
  const sim::SimulatedDriver machine(late(kLate));
  Backend backend;
  expect_taken_in(backend, 3 * kMebibyte + 5, 1);
  expect_taken_in(backend, 7, 2);
  expect_taken_in(backend, kMebibyte, 3);
}

// No stream runs before the host waits: a write without room in the ring waits itself.
TEST(Writes, TakeInAnyNumberWithoutAWaitBetween) {
  const sim::SimulatedDriver machine(late(kLate));
  Backend backend;
  belfry::Device& device = backend.device(0);
  belfry::Stream& stream = device.compute_stream();
  constexpr int kWrites = 600;
  constexpr std::size_t kEach = 6000;  // In all 14.4 MB, of which 4 MiB have room.
  std::vector<BufferView> views;
  std::vector<std::int32_t> source(kEach);
  for (int write = 0; write < kWrites; ++write) {
    const std::size_t bytes = kEach * sizeof(std::int32_t);
    views.push_back(view_of(device.allocate(bytes, stream), DType::kInt32));
    source.assign(kEach, write);
    stream.write(views.back(), source.data());
  }
  std::vector<std::int32_t> seen(kEach);
  for (int write = 0; write < kWrites; ++write) {
    stream.read(seen.data(), views[static_cast<std::size_t>(write)]);
    EXPECT_EQ(seen, std::vector<std::int32_t>(kEach, write));
  }
}

TEST(Writes, TakePinnedMemoryOfTheUserInAtOnce) {
  const sim::SimulatedDriver machine(late(kLate));
  Backend backend;
  belfry::Device& device = backend.device(0);
  belfry::Stream& stream = device.compute_stream();
  void* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, sizeof(std::int32_t), cudaHostAllocDefault), cudaSuccess);
  auto* const number = static_cast<std::int32_t*>(pinned);
  const BufferView view = view_of(device.allocate(sizeof(std::int32_t), stream), DType::kInt32);
  *number = 7;
  stream.write(view, number);
  *number = 8;
  std::int32_t seen = 0;
  stream.read(&seen, view);
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST(Writes, WaitWithoutPinnedMemory) {
  sim::SimulatedDriver machine(late(kLate));
  machine.fail("cudaHostAlloc", 1, cudaErrorMemoryAllocation);
  {
    Backend backend;
    for (std::int32_t round = 0; round < 3; ++round) expect_taken_in(backend, 5, round);
    EXPECT_EQ(machine.calls("cudaHostAlloc"), 1U);
  }
  EXPECT_THAT(machine.alive(), IsEmpty());
}

}  // namespace
}  // namespace belfry::cuda::staging_test
