// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The calls of CUDA that streams and events make: a call that tells the driver nothing new is left
// out.
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"

#include <gtest/gtest.h>
#include <cuda_runtime.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::cuda::driver_calls_test {
namespace {

Kernel fill_of(const BufferView& view, double value = 0) {
  Kernel fill;
  fill.outputs = {view};
  fill.parameters.scalar = value;
  return fill;
}

int current_gpu() {
  int gpu = -1;
  EXPECT_EQ(cudaGetDevice(&gpu), cudaSuccess);
  return gpu;
}

enum class Step { kRecord, kOtherRecord, kLaunch, kCopy, kWrite, kWait, kAllocate };

// Records are calls of CUDA only after new work: a model counts them.
RC_GTEST_PROP(DriverCalls, RecordsOfOnePointShareAnEvent, ()) {
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 7));
  const auto seed = *rc::gen::inRange(0, 1000);
  sim::SimulatedDriver machine({.gpus = 1, .seed = static_cast<std::uint64_t>(seed)});
  Backend backend;
  belfry::Device& device = backend.device(0);
  belfry::Stream& stream = device.communication_stream();
  const BufferView view = view_of(device.allocate(4, stream), DType::kFloat32);
  const BufferView other = view_of(device.allocate(4, stream), DType::kFloat32);
  stream.launch(fill_of(view));
  stream.launch(fill_of(other));
  const std::array events{device.create_event(), device.create_event()};
  const auto elsewhere = device.create_event();
  device.compute_stream().record(*elsewhere);
  float expected = 0;
  bool is_new = true;
  std::uint64_t points = 0;
  const std::uint64_t before = machine.calls("cudaEventRecord");
  for (const int step : steps) {
    const auto next = static_cast<Step>(step);
    if (next == Step::kRecord || next == Step::kOtherRecord) {
      stream.record(*events[next == Step::kRecord ? 0 : 1]);
      points += is_new ? 1 : 0;
      is_new = false;
      continue;
    }
    is_new = true;
    if (next == Step::kLaunch) stream.launch(fill_of(view, expected = expected + 1));
    if (next == Step::kCopy) stream.copy(other, view);
    if (next == Step::kWait) stream.wait(*elsewhere);
    if (next == Step::kAllocate) device.allocate(4, stream);
    if (next == Step::kWrite) {
      expected += 2;
      stream.write(view, &expected);
    }
  }
  // The staging of a write marks its piece of memory with an event, too.
  const auto writes = static_cast<std::uint64_t>(
      std::count(steps.begin(), steps.end(), static_cast<int>(Step::kWrite)));
  RC_ASSERT(machine.calls("cudaEventRecord") - before == points + writes);
  // An event is a point behind all work before its record.
  stream.record(*events[0]);
  device.compute_stream().wait(*events[0]);
  float found = -1;
  device.compute_stream().read(&found, view);
  RC_ASSERT(found == expected);
  RC_ASSERT(machine.reports().empty());
}

// The program may enqueue on its own stream at any time.
TEST(DriverCalls, RecordEachTimeOnStreamsOfTheProgram) {
  sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t own = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaSuccess);
  {
    Backend backend{{.devices = {0}, .compute_streams = {own}}};
    const auto event = backend.device(0).create_event();
    const std::uint64_t before = machine.calls("cudaEventRecord");
    for (int i = 0; i < 3; ++i) backend.device(0).compute_stream().record(*event);
    EXPECT_EQ(machine.calls("cudaEventRecord") - before, 3U);
  }
  EXPECT_EQ(cudaStreamDestroy(own), cudaSuccess);
}

// CUDA asks for the GPU of a stream in launches alone.
TEST(DriverCalls, MakeAGpuCurrentForLaunches) {
  sim::SimulatedDriver machine({.gpus = 2});
  Backend backend;
  belfry::Stream& first = backend.device(0).compute_stream();
  belfry::Device& device = backend.device(1);
  belfry::Stream& stream = device.communication_stream();
  const BufferView view = view_of(device.allocate(4, stream), DType::kFloat32);
  const BufferView other = view_of(device.allocate(4, stream), DType::kFloat32);
  const auto event = device.create_event();
  const float value = 3;
  stream.write(view, &value);
  stream.record(*event);  // The store of events has none so far.
  ASSERT_EQ(current_gpu(), 0);
  const std::uint64_t asked = machine.calls("cudaGetDevice");
  const std::uint64_t set = machine.calls("cudaSetDevice");
  stream.copy(other, view);
  device.compute_stream().wait(*event);
  first.wait(*event);
  float found = 0;
  stream.read(&found, other);
  EXPECT_EQ(found, 3);
  EXPECT_EQ(machine.calls("cudaGetDevice"), asked);
  EXPECT_EQ(machine.calls("cudaSetDevice"), set);
  stream.launch(fill_of(other));
  EXPECT_EQ(machine.calls("cudaSetDevice"), set + 2) << "to the GPU of the stream, and back";
  EXPECT_EQ(current_gpu(), 0);
  stream.synchronize();
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

// Memory of another stream is kept, and asked for when much is kept.
TEST(DriverCalls, AskForTheEndOfWorkWithMuchMemory) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  sim::SimulatedDriver machine({.gpus = 1});
  Backend backend;
  belfry::Device& device = backend.device(0);
  belfry::Stream& away = device.communication_stream();
  const auto copies = [&](int count, std::size_t bytes) {
    const BufferView to = view_of(device.allocate(bytes, away), DType::kUInt8);
    const BufferView from = view_of(device.allocate(bytes, device.compute_stream()), DType::kUInt8);
    device.compute_stream().launch(fill_of(from));
    device.compute_stream().synchronize();
    const std::uint64_t before = machine.calls("cudaEventQuery");
    for (int i = 0; i < count; ++i) away.copy(to, from);
    return machine.calls("cudaEventQuery") - before;
  };
  EXPECT_EQ(copies(32, 4), 0U) << "a few holds of little memory";
  away.synchronize();
  EXPECT_EQ(copies(33, 4), 1U) << "about the first half";
  away.synchronize();
  EXPECT_GT(copies(1, kMiB), 0U);
  away.synchronize();
  EXPECT_EQ(device.memory().live_buffers, 0U);
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

}  // namespace
}  // namespace belfry::cuda::driver_calls_test
