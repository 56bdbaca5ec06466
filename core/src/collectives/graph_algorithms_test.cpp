// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Rows G13 to G20 of the conformance table: rings, shuffles and halving and doubling as the older
// system builds them in graphs (SEM-147).
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::graph_algorithms_test {
namespace {

using ::testing::ElementsAre;

using Algorithm = std::shared_ptr<CrossDeviceOps>;

// Element i of device d is i + 0.01 d. The mean over n devices is i + 0.01 (n - 1) / 2, and n means
// are the sum of the inputs.
void expect_means(int workers, int devices_of_a_worker, const Shape& shape,
                  const Algorithm& algorithm) {
  const int devices = workers * devices_of_a_worker;
  SCOPED_TRACE(std::string(algorithm->name()) + " of " + std::to_string(devices) + " devices");
  HostBackend backend(devices);
  MirroredStrategy strategy(backend, {.cross_device_ops = algorithm});
  const auto count = static_cast<std::size_t>(shape.count());
  const auto means = strategy.run([&](ReplicaContext& replica) {
    std::vector<float> own;
    for (std::size_t i = 0; i < count; ++i) {
      own.push_back(static_cast<float>(i) + 0.01F * static_cast<float>(replica.replica_id()));
    }
    const auto mean = replica.all_reduce(ReduceOp::kMean, Tensor<float>::from(shape, own));
    EXPECT_EQ(mean.shape(), shape);
    return mean.to_host();
  });
  for (const std::vector<float>& got : means) {
    ASSERT_EQ(got.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const double exact = static_cast<double>(i) + 0.01 * (devices - 1) / 2;
      EXPECT_NEAR(got[i], exact, 1e-6 + 1e-6 * exact) << "element " << i;
    }
  }
}

Algorithm ring(int hosts, int subchunks) {
  return std::make_shared<RingAllReduce>(
      RingOptions{.hosts = hosts, .subchunks = subchunks, .start = 1});
}

TEST(GraphAlgorithms, G13_ChunksOfARingWithSubchunks) {
  testing::asserts("SEM-147");
  const RingAllReduce two(RingOptions{.subchunks = 2});
  EXPECT_THAT(two.plan(4)->chunk_begins(16), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_EQ(RingAllReduce().plan(1)->steps(), 0U);
}

TEST(GraphAlgorithms, G14_MeansByRings) {
  testing::asserts("SEM-31", "SEM-147");
  expect_means(1, 2, {}, ring(1, 1));
  expect_means(1, 2, {8}, ring(1, 1));
  expect_means(1, 2, {4, 4}, ring(1, 1));
  expect_means(6, 1, {8}, ring(6, 1));
  expect_means(1, 8, {32}, ring(1, 1));
  expect_means(1, 8, {120}, ring(1, 1));
  expect_means(2, 8, {7, 13}, ring(2, 1));
  expect_means(2, 8, {8, 8}, ring(2, 2));
  expect_means(2, 8, {8, 8}, ring(2, 4));
}

TEST(GraphAlgorithms, G15_MeansByShuffles) {
  testing::asserts("SEM-31", "SEM-147");
  const auto shuffle = [](int shards) { return std::make_shared<ShuffleAllReduce>(shards); };
  expect_means(1, 2, {}, shuffle(1));
  expect_means(1, 2, {8}, shuffle(1));
  expect_means(1, 2, {4, 4}, shuffle(1));
  expect_means(1, 8, {32}, shuffle(1));
  expect_means(1, 8, {120}, shuffle(1));
  expect_means(2, 8, {7, 13}, shuffle(3));
  expect_means(2, 8, {8, 8}, shuffle(2));
  expect_means(2, 8, {8, 8}, shuffle(4));
  expect_means(4, 8, {8, 8, 2}, shuffle(4));
}

TEST(GraphAlgorithms, G16_MeansByHalvingAndDoubling) {
  testing::asserts("SEM-31", "SEM-147");
  const auto halving = std::make_shared<HalvingDoublingAllReduce>();
  expect_means(1, 2, {8}, halving);
  expect_means(1, 2, {4, 4}, halving);
  expect_means(1, 8, {32}, halving);
  expect_means(1, 8, {120}, halving);
  expect_means(2, 8, {8, 8}, halving);
  expect_means(4, 8, {8, 8, 2}, halving);
}

// Overridden: any number of devices and any length; pairs come first until a power of two is left.
TEST(GraphAlgorithms, G17_HalvingAndDoublingOfThree) {
  testing::asserts("SEM-147");
  expect_means(1, 3, {7}, std::make_shared<HalvingDoublingAllReduce>());
}

// Overridden: nothing is padded; the last chunks are shorter, or empty.
TEST(GraphAlgorithms, G18_ChunksAreNotPadded) {
  testing::asserts("SEM-147");
  const auto begins = [](std::size_t length, int chunks) {
    return ReductionPlan{.members = chunks, .chunks = chunks}.chunk_begins(length);
  };
  EXPECT_THAT(begins(5, 4), ElementsAre(0, 2, 4, 5, 5));
  EXPECT_THAT(begins(4, 3), ElementsAre(0, 2, 4, 4));
  EXPECT_THAT(begins(9, 8), ElementsAre(0, 2, 4, 6, 8, 9, 9, 9, 9));
  EXPECT_THAT(begins(7, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 7));
  // 91 / 16, rounded up, is 6: fifteen chunks of 6, and 1 element.
  EXPECT_EQ(begins(91, 16)[15], 90U);
  EXPECT_EQ(begins(91, 16)[16], 91U);
  expect_means(2, 8, {91}, ring(2, 1));
}

// Overridden: one replica obeys the rules of many, and its mean is its own value.
TEST(GraphAlgorithms, G20_ARingOfOne) {
  testing::asserts("SEM-15", "SEM-147");
  expect_means(1, 1, {7}, std::make_shared<RingAllReduce>());
}

}  // namespace
}  // namespace belfry::graph_algorithms_test
