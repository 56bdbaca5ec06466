// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/backend.h"

#include "belfry/belfry.h"
#include "belfry/sim/repeat.h"
#include "belfry/testing/asserts.h"
#include "testing/bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace belfry::sim::backend_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kCount = 4;

// Every replica fills a buffer on its own device, adds its neighbour's buffer without a wait, and
// reads the sum. The neighbour's value is the schedule's choice, or an error. Returns the read
// sums.
std::vector<std::int64_t> add_neighbours(Backend& backend, bool concurrent = true) {
  const int replicas = backend.device_count();
  std::vector<BufferView> views;
  for (int i = 0; i < replicas; ++i) {
    Device& device = backend.device(i);
    views.push_back(view_of(device.allocate(kCount * 8, device.compute_stream()), DType::kInt64));
    Kernel fill;
    fill.outputs = {views.back()};
    device.compute_stream().launch(fill);
  }
  for (int i = 0; i < replicas; ++i) backend.device(i).compute_stream().synchronize();
  std::vector<std::int64_t> sums(static_cast<std::size_t>(replicas));
  testing::carry(backend.executor(), replicas,
                 [&](int replica) {
                   const auto own = static_cast<std::size_t>(replica);
                   const auto next = static_cast<std::size_t>((replica + 1) % replicas);
                   Stream& stream = backend.device(replica).compute_stream();
                   Kernel fill;
                   fill.parameters.integer_scalar = replica + 1;
                   fill.outputs = {views[own]};
                   stream.launch(fill);
                   Kernel add;
                   add.kind = KernelKind::kBinary;
                   add.outputs = {views[own]};
                   add.inputs = {views[own], views[next]};
                   stream.launch(add);
                   std::int64_t read[kCount];
                   stream.read(read, views[own]);
                   sums[own] = read[0];
                 },
                 {.concurrent = concurrent});
  return sums;
}

// Five hundred million devices in all: to make each of them would take minutes and all memory.
TEST(Backend, AMillionDevicesAreCheapUntilTheyAreUsed) {
  for (int i = 0; i < 500; ++i) {
    Backend backend{{.devices = 1'000'000}};
    EXPECT_EQ(backend.device_count(), 1'000'000);
    EXPECT_EQ(backend.device(999'999).spec(), backend.device_spec(999'999));
    EXPECT_EQ(backend.memory_report().size(), 1u);
  }
}

TEST(Backend, DevicesAreNamedAndKept) {
  Backend backend{{.devices = 2}};
  EXPECT_EQ(to_string(backend.device_spec(1)), "/job:localhost/replica:0/task:0/device:SIM:1");
  EXPECT_EQ(&backend.device(1), &backend.device(1));
  EXPECT_EQ(backend.index_of(backend.device_spec(1)), 1);
  EXPECT_THROW(backend.device(3), InvalidArgumentError) << "device 2 is the host";
  EXPECT_THROW(backend.device_spec(-1), InvalidArgumentError);
  EXPECT_EQ(backend.name(), "sim");
  EXPECT_TRUE(backend.verifies_mirrored());
}

TEST(Backend, NeedsADevice) {
  for (const int devices : {0, -1}) {
    try {
      Backend backend{{.devices = devices}};
      FAIL() << "a backend of " << devices << " devices";
    } catch (const InvalidArgumentError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNoDevices);
      EXPECT_THAT(error.what(), HasSubstr("backend_test.cpp"));
    }
  }
  const Attachments none;
  EXPECT_EQ(Backend({.devices = 0}, none).device_count(), 0);
  EXPECT_THROW(Backend({.devices = -1}, none), InvalidArgumentError);
  EXPECT_THROW(Backend{{.devices = 1 << 30}}, InvalidArgumentError);
}

TEST(Backend, TheSameSeedGivesTheSameLog) {
  belfry::testing::asserts("SEM-70");
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    Backend a{{.devices = 4, .seed = seed}};
    Backend b{{.devices = 4, .seed = seed}};
    EXPECT_EQ(add_neighbours(a), add_neighbours(b));
    EXPECT_EQ(compare(a.log(), b.log()), std::nullopt);
    EXPECT_EQ(a.hash(), b.hash());
    EXPECT_EQ(a.replay_token(), b.replay_token());
  }
}

TEST(Backend, SomeSeedsGiveDifferentRuns) {
  std::set<std::uint64_t> hashes;
  std::set<std::vector<std::int64_t>> sums;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    Backend backend{{.devices = 3, .seed = seed}};
    sums.insert(add_neighbours(backend));
    hashes.insert(backend.hash());
  }
  EXPECT_GT(hashes.size(), 16u);
  // The neighbour's value is 0, its fill, or its own sum, by the order of the streams' turns.
  EXPECT_GT(sums.size(), 1u);
}

TEST(Backend, AReplayOfAnotherProgramIsNoticed) {
  belfry::testing::asserts("SEM-71");
  Backend recorded{{.devices = 4, .seed = 3}};
  add_neighbours(recorded);
  Backend other{{.devices = 3, .schedule = Schedule::replay(recorded.replay_token())}};
  try {
    add_neighbours(other);
    FAIL() << "choices among four replicas fitted three";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kReplay);
    EXPECT_THAT(error.what(), HasSubstr("the recorded choices do not fit; choice "));
  }
}

TEST(Backend, SerialRunsAreFixedRuns) {
  belfry::testing::asserts("SEM-71");
  Backend fixed{{.devices = 4, .schedule = Schedule::fixed()}};
  Backend serial{{.devices = 4, .schedule = Schedule::fixed()}};
  EXPECT_EQ(add_neighbours(fixed), add_neighbours(serial, false));
  EXPECT_EQ(compare(fixed.log(), serial.log()), std::nullopt);
}

// The order in which replicas went on, in a run of two merges, from the log: replicas in an order
// of the schedule must not write into a shared list.
std::vector<int> order_of_replicas(Backend& backend, RunOptions options) {
  MirroredStrategy strategy(backend);
  strategy.run(options, [](ReplicaContext& replica) {
    for (int round = 0; round < 2; ++round) replica.merge_call([](CrossReplicaContext&) {});
  });
  std::vector<int> order;
  for (const LogRecord& record : backend.log().records()) {
    if (record.kind == OperationKind::kStart || record.kind == OperationKind::kResume) {
      order.push_back(record.agent_index);
    }
  }
  return order;
}

TEST(Backend, SerialRunsGoByReplicaWhateverIsDrawn) {
  belfry::testing::asserts("SEM-8");
  const std::vector<int> by_replica = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  std::set<std::vector<int>> drawn;
  for (const auto carrier : {Carrier::kFiber, Carrier::kBaton, Carrier::kConcurrent}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Backend serial{{.devices = 4, .carrier = carrier, .seed = seed}};
      EXPECT_EQ(order_of_replicas(serial, {.concurrent = false}), by_replica);
      if (carrier == Carrier::kConcurrent) continue;  // Nothing is drawn there.
      Backend other{{.devices = 4, .carrier = carrier, .seed = seed}};
      drawn.insert(order_of_replicas(other, {}));
    }
  }
  EXPECT_GT(drawn.size(), 1U);
}

TEST(Backend, RecordingCanBeTurnedOff) {
  Backend recorded{{.devices = 3, .seed = 5}};
  Backend silent{{.devices = 3, .record = false, .seed = 5}};
  EXPECT_EQ(add_neighbours(recorded), add_neighbours(silent));
  EXPECT_EQ(silent.log().size(), 0u);
  EXPECT_THAT(silent.choices(), IsEmpty());
  EXPECT_THROW(silent.replay_token(), UnsupportedError);
}

// The record of choices may end with the last one.
TEST(Backend, ATokenNeedsEveryChoice) {
  Backend whole{{.devices = 3, .seed = 5}};
  add_neighbours(whole);
  const std::size_t choices = whole.choices().size();
  Backend just{{.devices = 3, .record_limit = choices, .seed = 5}};
  add_neighbours(just);
  EXPECT_EQ(just.replay_token(), whole.replay_token());
  Backend cut{{.devices = 3, .record_limit = choices - 1, .seed = 5}};
  add_neighbours(cut);
  EXPECT_THROW(cut.replay_token(), UnsupportedError);
}

TEST(Backend, LogsAnAllocationByItsNumberAndSize) {
  Backend backend{{.devices = 2}};
  Device& device = backend.device(1);
  const BufferPtr first = device.allocate(100, device.compute_stream());
  const BufferPtr second = device.allocate(28, device.compute_stream());
  ASSERT_EQ(backend.log().size(), 2u);
  EXPECT_EQ(to_string(backend.log().records()[0]), "H0 allocate 0 (0x0000000000000064)");
  EXPECT_EQ(to_string(backend.log().records()[1]), "H0 allocate 1 (0x000000000000001c)");
}

TEST(Backend, LeaksKeepTheNumbersOfTheirAllocations) {
  Backend backend{{.devices = 1}};
  Device& device = backend.device(0);
  device.allocate(100, device.compute_stream());
  const BufferPtr kept = device.allocate(28, device.compute_stream());
  EXPECT_THAT(backend.leaks(), ElementsAre(LiveBuffer{0, 1, 28}));
}

TEST(Backend, ReportsMemoryAndLeaks) {
  belfry::testing::asserts("SEM-76");
  Backend backend{{.devices = 3}};
  EXPECT_THAT(backend.memory_report(), IsEmpty());
  Device& device = backend.device(1);
  BufferPtr kept = device.allocate(100, device.compute_stream());
  device.allocate(28, device.compute_stream());
  const auto report = backend.memory_report();
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].device, 1);
  EXPECT_EQ(report[0].use.live_bytes, 100u);
  EXPECT_EQ(report[0].use.peak_bytes, 128u);
  EXPECT_THAT(backend.leaks(), ElementsAre(LiveBuffer{1, 0, 100}));
  EXPECT_EQ(to_string(backend.leaks()[0]), "buffer 0 of device 1 (100 bytes)");
  kept.reset();
  EXPECT_THAT(backend.leaks(), IsEmpty());
}

TEST(Backend, MemoryHeldByWorkInFlightIsNotMissed) {
  Backend backend{{.devices = 1, .schedule = Schedule::fixed(), .memory_limit_bytes = kCount * 8}};
  Device& device = backend.device(0);
  for (int i = 0; i < 3; ++i) {
    const BufferPtr buffer = device.allocate(kCount * 8, device.compute_stream());
    Kernel fill;
    fill.outputs = {view_of(buffer, DType::kInt64)};
    device.compute_stream().launch(fill);
  }
  EXPECT_EQ(device.memory().peak_bytes, kCount * 8);
}

// Writes a number that differs from run to run.
void write_the_number_of_the_run(Backend& backend, std::int32_t run) {
  Device& device = backend.device(0);
  Stream& stream = device.compute_stream();
  const BufferPtr buffer = device.allocate(8, stream);
  stream.write(view_of(buffer, DType::kInt32), &"12345678"[0]);
  stream.write({buffer, 0, 1, DType::kInt32}, &run);
  stream.synchronize();
}

TEST(RepeatAndCompare, ShowsTheFirstOperationThatDiffers) {
  belfry::testing::asserts("SEM-70");
  // For any options of records.
  for (const Options& options : {Options{}, {.record = false}, {.record_limit = 2}}) {
    Options fixed = options;
    fixed.schedule = Schedule::fixed();
    std::int32_t runs = 0;
    const CallSite site = CallSite::here();
    try {
      repeat_and_compare(
          fixed, [&](Backend& backend) { write_the_number_of_the_run(backend, ++runs); }, site);
      FAIL() << "the second run wrote something else";
    } catch (const InvalidArgumentError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotDeterministic);
      EXPECT_EQ(error.report().site.line, site.line);
      // allocate, enqueue, enqueue, host_wait, execute 1, and then:
      EXPECT_THAT(error.what(), HasSubstr("operation 5 differs:\n  first : S0 execute 2 ("));
    }
  }
}

}  // namespace
}  // namespace belfry::sim::backend_test
