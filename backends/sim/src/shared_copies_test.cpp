// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// GOAL-25, SEM-76: copies take up the host's memory once, until one of them is written.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "buffer.h"
#include "testing/raw_program.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace belfry::sim::shared_copies_test {
namespace {

constexpr int kDevices = 8;
constexpr std::int64_t kCount = 1 << 18;
constexpr std::size_t kBytes = kCount * sizeof(float);

using Tensors = std::vector<Tensor<float>>;

// A strategy on devices whose copies share their bytes, or do not.
struct Machine {
  explicit Machine(bool share) : backend({.devices = kDevices, .share_copies = share}) {}

  // Bytes of the host's memory in which the tensors lie, when nothing is in flight.
  std::size_t held_bytes(const Tensors& tensors) {
    for (int device = 0; device < kDevices; ++device) {
      backend.device(device).compute_stream().synchronize();
      backend.device(device).communication_stream().synchronize();
    }
    std::set<const std::byte*> places;
    for (const Tensor<float>& tensor : tensors) {
      const auto& buffer = static_cast<const SimBuffer&>(*tensor.any().view().buffer);
      EXPECT_EQ(buffer.bytes(), kBytes);
      places.insert(buffer.allocation()->data());
    }
    EXPECT_FALSE(places.contains(nullptr));
    return places.size() * kBytes;
  }

  // A broadcast of 1, as it is on each device.
  Tensors broadcast_ones() {
    const auto source = Tensor<float>::full({kCount}, 1.0F, strategy.placement(0));
    const auto ones = strategy.cross_replica().broadcast(source);
    Tensors copies;
    for (int device = 0; device < kDevices; ++device) copies.push_back(ones[device]);
    return copies;
  }

  Backend backend;
  MirroredStrategy strategy{backend};
};

// Writes a number over all of a tensor, in its place.
void fill(Machine& machine, const Tensor<float>& tensor, double number) {
  Kernel kernel;
  kernel.parameters.scalar = number;
  kernel.outputs = {tensor.any().view()};
  machine.backend.device(tensor.placement().device).compute_stream().launch(kernel);
}

void expect_all(const Tensor<float>& tensor, float number) {
  EXPECT_EQ(tensor.to_host(), std::vector<float>(kCount, number));
}

TEST(SharedCopies, OfABroadcastAreHeldOnceUntilEachIsWritten) {
  Machine machine(true);
  const Tensors copies = machine.broadcast_ones();
  EXPECT_EQ(machine.held_bytes(copies), kBytes);
  for (const Tensor<float>& copy : copies) expect_all(copy, 1);
  // Reading has parted nothing. The last that is written keeps the bytes that all had.
  float number = 2;
  std::size_t held = 1;
  for (const Tensor<float>& copy : copies) {
    fill(machine, copy, number++);
    held = std::min(held + 1, copies.size());
    EXPECT_EQ(machine.held_bytes(copies), held * kBytes);
  }
  number = 2;
  for (const Tensor<float>& copy : copies) expect_all(copy, number++);
}

TEST(SharedCopies, OfAMirroredVariableAreHeldOnceUntilItIsUpdated) {
  belfry::testing::asserts("SEM-76");
  Machine machine(true);
  const auto variable = machine.strategy.mirrored_variable(
      [&] { return Tensor<float>::full({kCount}, 1.0F, machine.strategy.placement(0)); });
  const auto components = [&] {
    const auto all = machine.strategy.local_values(variable);
    return Tensors(all.begin(), all.end());
  };
  EXPECT_EQ(machine.held_bytes(components()), kBytes);
  machine.strategy.cross_replica().update(variable,
                                          [](Tensor<float>& own) { own = add(own, 1.0F); });
  EXPECT_EQ(machine.held_bytes(components()), kDevices * kBytes);
  expect_all(machine.strategy.read(variable), 2);
}

TEST(SharedCopies, AreHeldByEachDeviceWhereTheyAreNotShared) {
  Machine machine(false);
  const Tensors copies = machine.broadcast_ones();
  EXPECT_EQ(machine.held_bytes(copies), kDevices * kBytes);
  for (const Tensor<float>& copy : copies) expect_all(copy, 1);
}

// Changes an operand in `reads`.
struct ChangesItsInput {
  void on_host(std::span<float> y, std::span<const float> x) const {
    const_cast<float&>(x[0]) = 9;
    y[0] = x[0];
  }
};

// The mistake has an effect on a single device, as on GPUs.
TEST(SharedCopies, ArePrivateToABodyThatChangesWhatItReads) {
  belfry::testing::asserts("SEM-76");
  for (const bool share : {false, true}) {
    for (int odd = 0; odd < kDevices; ++odd) {
      Machine machine(share);
      const Tensors copies = machine.broadcast_ones();
      auto y = Tensor<float>::full({1}, 0, Placement{&machine.backend, odd});
      launch(ChangesItsInput(), updates(y), reads(copies[static_cast<std::size_t>(odd)]));
      EXPECT_EQ(y.item(), 9);
      for (int device = 0; device < kDevices; ++device) {
        const float first = copies[static_cast<std::size_t>(device)].to_host()[0];
        EXPECT_EQ(first, device == odd ? 9 : 1) << device << " of " << odd;
      }
    }
  }
}

struct ReadsItsInput {
  void on_host(std::span<float> y, std::span<const float> x) const { y[0] += x[0]; }
};

// Bodies need at most a copy for each new value.
TEST(SharedCopies, AreCopiedOnceForBodies) {
  belfry::testing::asserts("SEM-76");
  Machine machine(true);
  const Tensors copies = machine.broadcast_ones();
  auto y = Tensor<float>::full({1}, 0, Placement{&machine.backend, 0});
  for (int step = 0; step < 3; ++step) {
    launch(ReadsItsInput(), updates(y), reads(copies[0]));
    EXPECT_EQ(machine.held_bytes(copies), 2 * kBytes);
  }
  EXPECT_EQ(y.item(), 3);
}

TEST(SharedCopies, OfAVariableAreNotMadeInPlace) {
  belfry::testing::asserts("SEM-42");
  Backend backend({.devices = 2, .memory_limit_bytes = kBytes});
  MirroredStrategy strategy(backend);
  const auto variable =
      strategy.mirrored_variable([] { return Tensor<float>::full({kCount}, 1.0F); });
  const auto twice = [](Tensor<float>& own) { scale(own, 2); };
  EXPECT_THROW(strategy.cross_replica().update(variable, twice), DeviceError);
  strategy.cross_replica().update({.in_place = true}, variable, twice);
  for (const auto& component : strategy.local_values(variable)) expect_all(component, 2);
}

// Programs and logs cannot see whether copies share their bytes.
RC_GTEST_PROP(SharedCopies, ChangeNeitherResultsNorLog, (std::uint64_t data, std::uint64_t seed)) {
  const auto program = testing::RawProgram::draw(data, 8);
  const auto options = [&](bool share) {
    return Options{.devices = 2, .share_copies = share, .digests = Digests::kAll, .seed = seed};
  };
  Backend shared(options(true));
  Backend apart(options(false));
  RC_ASSERT(testing::RawRun(shared).run(program) == testing::RawRun(apart).run(program));
  RC_ASSERT(shared.log().hash() == apart.log().hash());
}

}  // namespace
}  // namespace belfry::sim::shared_copies_test
