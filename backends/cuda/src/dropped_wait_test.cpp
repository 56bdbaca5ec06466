// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

// Every wait of the backend has a reason: without the wait, some order of the streams gives a wrong
// result or reads memory without contents, and every order gives a report.
namespace belfry::cuda::dropped_wait_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kSchedules = 300;
constexpr int kMembers = 3;

struct Outcome {
  std::optional<float> sum{};  ///< Empty if a device reported an error.
  std::uint64_t waits = 0;
  std::vector<std::string> reports{};
};

/// The sum that member `reader` reads on its compute stream, after an all-reduce on fresh memory.
/// Wait number `dropped`, counted from 1, is left out.
std::optional<float> reduce(sim::SimulatedDriver& machine, std::uint64_t dropped,
                            std::size_t reader, std::uint64_t& waits) {
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
    clique->run({.kind = CollectiveKind::kAllReduce, .parts = parts});
    waits = machine.calls("cudaStreamWaitEvent") - before;
    float sum = 0;
    parts[reader].stream->read(&sum, parts[reader].output);
    for (const CollectivePart& part : parts) part.stream->synchronize();
    return sum;
  } catch (const DeviceError&) {
    return std::nullopt;
  }
}

Outcome run(std::uint64_t schedule, std::uint64_t dropped) {
  sim::SimulatedDriver machine({.gpus = 1, .seed = schedule});
  Outcome outcome;
  // The third wait protects the second member's output.
  outcome.sum = reduce(machine, dropped, dropped == 3 ? 1 : 2, outcome.waits);
  outcome.reports = machine.reports();
  return outcome;
}

TEST(DroppedWait, IsNoticedInEveryOrder) {
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    const Outcome whole = run(schedule, 0);
    ASSERT_EQ(whole.sum, 6.0F) << "order " << schedule;
    ASSERT_THAT(whole.reports, IsEmpty()) << "order " << schedule;
    // The leader waits for the two other members, and each of the two waits for the end.
    ASSERT_EQ(whole.waits, 4U);
  }
  for (const std::uint64_t dropped : {1, 2, 3, 4}) {
    std::uint64_t wrong = 0;
    for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
      const Outcome outcome = run(schedule, dropped);
      ASSERT_THAT(outcome.reports, ::testing::Contains(HasSubstr("race for ")))
          << "order " << schedule << ", wait " << dropped;
      if (outcome.sum != 6.0F) ++wrong;
    }
    EXPECT_GT(wrong, 0U) << "wait " << dropped;
  }
}

}  // namespace
}  // namespace belfry::cuda::dropped_wait_test
