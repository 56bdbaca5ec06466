// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

// Work of two streams on the same memory: with a wait between, it ends as in order under every
// schedule; without the wait, it does not.

namespace belfry::sim::dropped_wait_test {
namespace {

// A conflict between two streams, ordered by a single wait, with unrelated work around.
struct Conflict {
  const char* name;
  // The work of the first and the second stream on buffers x and y; both hold 0 at first.
  std::function<void(Stream&, const BufferView& x, const BufferView& y)> first;
  std::function<void(Stream&, const BufferView& x, const BufferView& y)> second;
  std::uint32_t x = 0;  // In order.
  std::uint32_t y = 0;
};

void fill(Stream& stream, const BufferView& view, std::int64_t value) {
  Kernel kernel;
  kernel.parameters.integer_scalar = value;
  kernel.outputs = {view};
  stream.launch(std::move(kernel));
}

std::vector<Conflict> conflicts() {
  const auto fill_x = [](std::int64_t value) {
    return
        [value](Stream& stream, const BufferView& x, const BufferView&) { fill(stream, x, value); };
  };
  const auto copy = [](Stream& stream, const BufferView& x, const BufferView& y) {
    stream.copy(y, x);
  };
  return {{"read after write", fill_x(1), copy, 1, 1},
          {"write after read", copy, fill_x(1), 1, 0},
          {"write after write", fill_x(1), fill_x(2), 2, 0}};
}

// Whether x and y end as in order.
bool in_order(const Conflict& conflict, bool waits, int tail, std::uint64_t seed) {
  Backend backend{{.devices = 2, .seed = seed}};
  Stream& first = backend.device(0).compute_stream();
  Stream& second = backend.device(1).compute_stream();
  const auto make = [&](int device) {
    Device& on = backend.device(device);
    const BufferView view = view_of(on.allocate(4, on.compute_stream()), DType::kInt32);
    fill(on.compute_stream(), view, 0);
    on.compute_stream().synchronize();
    return view;
  };
  const BufferView x = make(0);
  const BufferView y = make(1);
  const BufferView unrelated_first = make(0);
  const BufferView unrelated_second = make(1);
  const auto event = backend.device(0).create_event();
  for (int i = 0; i < tail; ++i) fill(second, unrelated_second, i);
  for (int i = 0; i < tail; ++i) fill(first, unrelated_first, i);
  conflict.first(first, x, y);
  first.record(*event);
  if (waits) second.wait(*event);
  conflict.second(second, x, y);
  first.synchronize();
  second.synchronize();
  std::uint32_t x_end = 0;
  std::uint32_t y_end = 0;
  second.read(&x_end, x);
  second.read(&y_end, y);
  return x_end == conflict.x && y_end == conflict.y;
}

TEST(DroppedWait, IsFoundBySomeSeedAndAWaitHoldsForAll) {
  belfry::testing::asserts("SEM-72");
  for (const Conflict& conflict : conflicts()) {
    for (const int tail : {0, 1, 3}) {
      int wrong = 0;
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        EXPECT_TRUE(in_order(conflict, true, tail, seed)) << conflict.name << ", seed " << seed;
        wrong += !in_order(conflict, false, tail, seed);
      }
      EXPECT_GT(wrong, 0) << conflict.name << " after " << tail << " unrelated kernels";
    }
  }
}

// Gradients are computed on the compute streams and summed on the communication streams.
std::uint32_t summed_gradients(bool waits, std::uint64_t seed) {
  constexpr int kDevices = 4;
  Backend backend{{.devices = kDevices, .seed = seed}};
  std::vector<CollectivePart> parts;
  std::vector<int> all;
  for (int d = 0; d < kDevices; ++d) {
    Device& device = backend.device(d);
    const BufferView view = view_of(device.allocate(4, device.compute_stream()), DType::kInt32);
    fill(device.compute_stream(), view, 0);
    device.compute_stream().synchronize();
    parts.push_back({view, view, &device.communication_stream()});
    all.push_back(d);
  }
  const auto communicator = backend.communicator(all);
  for (int d = 0; d < kDevices; ++d) {
    Device& device = backend.device(d);
    fill(device.compute_stream(), parts[static_cast<std::size_t>(d)].input, d + 1);
    const auto event = device.create_event();
    device.compute_stream().record(*event);
    // The planted fault: one of the four waits is missing.
    if (waits || d != 2) device.communication_stream().wait(*event);
  }
  communicator->run({.kind = CollectiveKind::kAllReduce, .parts = parts});
  std::uint32_t sum = 0;
  parts[0].stream->read(&sum, parts[0].output);
  return sum;
}

TEST(DroppedWait, OfOneReplicaBeforeAnAllReduceIsFound) {
  std::set<std::uint32_t> sums;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    EXPECT_EQ(summed_gradients(true, seed), 10u) << seed;
    sums.insert(summed_gradients(false, seed));
  }
  // Replica 2's gradient of 3 is in the sum or not.
  EXPECT_EQ(sums, (std::set<std::uint32_t>{7, 10}));
}

}  // namespace
}  // namespace belfry::sim::dropped_wait_test
