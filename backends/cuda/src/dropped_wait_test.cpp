// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>

#include <optional>

// Every wait of the backend has a reason: without the wait, some order of the streams gives a wrong
// result or reads memory without contents.
namespace belfry::cuda::dropped_wait_test {
namespace {

constexpr std::uint64_t kSchedules = 60;
constexpr int kMembers = 3;

/// An all-reduce on fresh memory, in an order of streams given by `schedule`. Wait number
/// `dropped`, counted from 1, is left out. Returns the sum that the last member reads on its
/// compute stream; empty if a device reported an error.
std::optional<float> run(std::uint64_t schedule, std::uint64_t dropped, std::uint64_t* waits) {
  sim::SimulatedDriver machine({.gpus = 1, .seed = schedule});
  Backend backend{{.devices = std::vector<int>(kMembers, 0)}};
  const auto clique = backend.communicator(test::first_ranks(kMembers));
  std::vector<CollectivePart> parts;
  for (int rank = 0; rank < kMembers; ++rank) {
    belfry::Device& device = backend.device(rank);
    belfry::Stream& compute = device.compute_stream();
    const BufferView in = view_of(device.allocate(4, compute), DType::kFloat32);
    const BufferView out = view_of(device.allocate(4, compute), DType::kFloat32);
    const float zero = 0;
    const float value = 1.0F + static_cast<float>(rank);
    compute.write(in, &zero);
    compute.write(out, &zero);
    compute.write(in, &value);
    parts.push_back({in, out, &compute});
  }
  const std::uint64_t before = machine.calls("cudaStreamWaitEvent");
  if (dropped != 0) machine.fail("cudaStreamWaitEvent", dropped, 0);
  try {
    clique->all_reduce(ReduceOp::kSum, parts);
    *waits = machine.calls("cudaStreamWaitEvent") - before;
    float sum = 0;
    parts.back().stream->read(&sum, parts.back().output);
    for (const CollectivePart& part : parts) part.stream->synchronize();
    return sum;
  } catch (const DeviceError&) {
    return std::nullopt;
  }
}

TEST(DroppedWait, IsNoticedInSomeOrder) {
  std::uint64_t waits = 0;
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    ASSERT_EQ(run(schedule, 0, &waits), 6.0F) << "order " << schedule;
  }
  // The leader waits for the two other members, and each of the two waits for the end.
  ASSERT_EQ(waits, 4U);
  // The third wait protects the second member's output, which this test does not read.
  for (const std::uint64_t dropped : {1, 2, 4}) {
    std::uint64_t noticed = 0;
    for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
      if (run(schedule, dropped, &waits) != 6.0F) ++noticed;
    }
    EXPECT_GT(noticed, 0U) << "wait " << dropped;
  }
}

}  // namespace
}  // namespace belfry::cuda::dropped_wait_test
