// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <string>
#include <vector>

// Work in flight keeps its memory, whatever call fails, and nothing else keeps memory.
namespace belfry::cuda::kept_memory_test {
namespace {

using test::code_of;
using test::fill_on_each_stream;
using test::first_ranks;
using test::kLaunchFailure;

/// Copies from memory of a different stream, and drops the memory after the call. Call number
/// `which` of `function` during the copy fails. Returns whether the copy was refused.
bool copy_and_let_go(std::uint64_t seed, const std::string& function, std::uint64_t which) {
  sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
  Backend backend;
  belfry::Device& device = backend.device(0);
  belfry::Stream& home = device.compute_stream();
  belfry::Stream& away = device.communication_stream();
  const BufferView to = view_of(device.allocate(4, away), DType::kFloat32);
  bool refused = false;
  {
    const BufferView from = view_of(device.allocate(4, home), DType::kFloat32);
    const float value = 5;
    home.write(from, &value);
    home.synchronize();
    machine.fail(function, which, kLaunchFailure);
    refused = code_of([&] { away.copy(to, from); }) == ErrorCode::kDeviceLost;
  }
  home.synchronize();
  away.synchronize();
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  EXPECT_EQ(device.memory().live_buffers, 1U) << "all but the target are let go";
  return refused;
}

TEST(KeptMemory, OutlivesACallThatFailsAfterTheWork) {
  int refused = 0;
  for (const char* function : {"cudaEventCreateWithFlags", "cudaEventRecord", "cudaGetDevice"}) {
    for (std::uint64_t which = 1; which <= 3; ++which) {
      for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(std::string(function) + " " + std::to_string(which) + ", order " +
                     std::to_string(seed));
        refused += copy_and_let_go(seed, function, which) ? 1 : 0;
      }
    }
  }
  EXPECT_GE(refused, 3 * 12) << "one event made, one recorded, and once the GPU asked for";
}

// The second tensor fits when the copy of the first has ended.
TEST(KeptMemory, OfWorkThatEndsIsThereForLaterTensors) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    const sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
    Backend backend{{.memory_limit_bytes = 8}};
    belfry::Device& device = backend.device(0);
    belfry::Stream& home = device.compute_stream();
    belfry::Stream& away = device.communication_stream();
    const BufferView to = view_of(device.allocate(4, away), DType::kFloat32);
    {
      const BufferView from = view_of(device.allocate(4, home), DType::kFloat32);
      const float value = 5;
      home.write(from, &value);
      home.synchronize();
      away.copy(to, from);
    }
    EXPECT_NO_THROW(device.allocate(4, home));
    EXPECT_EQ(code_of([&] { device.allocate(8, home); }), ErrorCode::kOutOfMemory);
    float copied = 0;
    away.read(&copied, to);
    EXPECT_EQ(copied, 5);
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

// The copy is enqueued without a mark of its end: the destructor of its stream waits, and first
// gets an error.
TEST(KeptMemory, OutlivesTheEndOfAStreamThatReportsAnError) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
    Backend backend;
    belfry::Device& device = backend.device(0);
    belfry::Stream& home = device.compute_stream();
    auto away = device.create_stream();
    const BufferView to = view_of(device.allocate(4, home), DType::kFloat32);
    {
      const BufferView from = view_of(device.allocate(4, home), DType::kFloat32);
      const float value = 5;
      home.write(from, &value);
      home.synchronize();
      machine.fail("cudaEventRecord", 1, kLaunchFailure);
      EXPECT_EQ(code_of([&] { away->copy(to, from); }), ErrorCode::kDeviceLost);
    }
    machine.fail("cudaStreamSynchronize", 1, kLaunchFailure);
    away.reset();
    float copied = 0;
    home.read(&copied, to);
    EXPECT_EQ(copied, 5);
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

// A pool ends after the work on each stream of its device.
TEST(KeptMemory, EndsAfterTheWorkWhenAStreamReportsAnError) {
  for (std::uint64_t which = 1; which <= 2; ++which) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(std::to_string(which) + ", order " + std::to_string(seed));
      sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
      {
        Backend backend;
        fill_on_each_stream(backend.device(0));
        machine.fail("cudaStreamSynchronize", which, kLaunchFailure);
      }
      EXPECT_EQ(machine.reports(), std::vector<std::string>{});
      EXPECT_EQ(machine.alive(), std::vector<std::string>{});
    }
  }
}

// The leader's stream keeps the memory of the first sum until a later call checks.
TEST(KeptMemory, IsLetGoWhenTheDeviceHasNoMore) {
  const sim::SimulatedDriver machine({.gpus = 1});
  Backend backend{{.devices = {0, 0}, .memory_limit_bytes = 100}};
  const auto clique = backend.communicator(first_ranks(2));
  {
    std::vector<CollectivePart> parts;
    for (int rank = 0; rank < 2; ++rank) {
      belfry::Stream& stream = backend.device(rank).compute_stream();
      const BufferView view = view_of(backend.device(rank).allocate(60, stream), DType::kFloat32);
      const std::vector<float> ones(15, 1.0F);
      stream.write(view, ones.data());
      parts.push_back({view, view, &stream});
    }
    clique->run({.kind = CollectiveKind::kAllReduce, .parts = parts});
    const auto done = backend.device(0).create_event();
    parts[0].stream->record(*done);
    done->synchronize();  // Releases no memory, unlike a wait for the stream.
    parts[1].stream->synchronize();
  }
  for (int rank = 0; rank < 2; ++rank) {
    belfry::Device& device = backend.device(rank);
    EXPECT_EQ(device.allocate(60, device.compute_stream())->bytes(), 60U);
  }
}

TEST(KeptMemory, AnErrorOfTheUsersIsNotTheLaunchs) {
  const sim::SimulatedDriver machine({.gpus = 1});
  Backend backend;
  belfry::Device& device = backend.device(0);
  Kernel fill;
  fill.outputs = {view_of(device.allocate(4, device.compute_stream()), DType::kFloat32)};
  ASSERT_EQ(cudaSetDevice(77), cudaErrorInvalidDevice);
  EXPECT_NO_THROW(device.compute_stream().launch(fill));
}

}  // namespace
}  // namespace belfry::cuda::kept_memory_test
