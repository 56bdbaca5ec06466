// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A completion is done when all devices of the completion are done (SEM-125). With the fixed
// schedule, devices take steps in turn while the host waits for a device, and a single step if the
// host asks. The tests therefore know the work that has not been executed yet.
#include "belfry/belfry.h"
#include "belfry/cross_replica_context.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace belfry::sim::completion_test {
namespace {

class Completions : public ::testing::Test {
 protected:
  static constexpr int kFew = 10;
  static constexpr int kMore = 100;
  static constexpr int kMost = 1000;

  /// Enqueues work of so many steps on a device; the result is their number.
  Tensor<float> work(int device, int steps) {
    auto sum = Tensor<float>::full({4}, 1.0F, strategy_.placement(device));
    for (int step = 1; step < steps; ++step) sum = sum + 1.0F;
    return sum;
  }

  sim::Backend backend_{{.devices = 3, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy_{backend_};
};

TEST_F(Completions, AreDoneWithTheLastOfTheirDevices) {
  belfry::testing::asserts("SEM-125");
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    const auto first = work(order[0], kFew);
    const auto second = work(order[1], kMore);
    const auto third = work(order[2], kMost);
    const Completion all = strategy_.cross_replica().group(std::tuple(first, second, third));
    EXPECT_FALSE(all.done());
    EXPECT_EQ(first.to_host()[0], kFew);
    EXPECT_FALSE(all.done());
    EXPECT_EQ(second.to_host()[0], kMore);
    EXPECT_FALSE(all.done());
    EXPECT_EQ(third.to_host()[0], kMost);
    EXPECT_TRUE(all.done());
  }
}

TEST_F(Completions, WaitForAllOfTheirDevices) {
  const auto tensors = std::tuple(work(0, kFew), work(1, kMore), work(2, kMost));
  const Completion all = strategy_.cross_replica().group(tensors);
  all.wait();
  EXPECT_TRUE(all.done());
}

TEST_F(Completions, DelayWhatComesLaterOnADevice) {
  belfry::testing::asserts("SEM-125");
  for (const bool delayed : {false, true}) {
    const auto tensors = std::tuple(work(0, kMost), work(1, kFew), work(2, kMost));
    const Completion all = strategy_.cross_replica().group(tensors);
    if (delayed) all.delay(strategy_.placement(1));
    EXPECT_EQ(work(1, kFew).to_host()[0], kFew);
    EXPECT_EQ(all.done(), delayed);
    all.wait();
  }
}

}  // namespace
}  // namespace belfry::sim::completion_test
