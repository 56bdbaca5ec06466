// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The bytes that algorithms of reductions send over each link between two devices.
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "collectives/testing/counting_links.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::links_test {
namespace {

using testing::CountingLinks;
using testing::Traffic;

using Links = std::map<std::pair<int, int>, LinkTraffic>;

// Sums a tensor of `count` ones on each device.
template <class T>
Traffic traffic_of(std::shared_ptr<CrossDeviceOps> algorithm, int devices, int count,
                   ReduceOp op = ReduceOp::kSum) {
  CountingLinks backend(devices);
  MirroredStrategy strategy(backend, {.cross_device_ops = std::move(algorithm)});
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    return replica.all_reduce(op, Tensor<T>::full({count}, T(1))).to_host();
  });
  const auto expected = static_cast<float>(op == ReduceOp::kSum ? devices : 1);
  for (const std::vector<T>& sum : sums) {
    EXPECT_EQ(sum.size(), static_cast<std::size_t>(count));
    for (const T& x : sum) EXPECT_EQ(static_cast<float>(x), expected);
  }
  return backend.traffic();
}

// The lengths of the chunks: n elements go to N chunks, ceil(n / N) each while elements are left.
std::vector<std::size_t> chunks_of(int count, int devices) {
  std::vector<std::size_t> lengths(static_cast<std::size_t>(devices), 0);
  const int full = count / devices + (count % devices == 0 ? 0 : 1);
  for (int element = 0; element < count; ++element) {
    lengths[static_cast<std::size_t>(element / full)] += 1;
  }
  return lengths;
}

void add_chunk(LinkTraffic& link, std::size_t length, std::size_t element_bytes) {
  if (length == 0) return;
  link.copies += 1;
  link.bytes += length * element_bytes;
}

// From each device to its right neighbour: partial sums of all chunks but the chunk whose sum the
// sender finishes, which is the chunk of the right neighbour; then all finished chunks but the
// chunk that the neighbour finishes itself.
Links ring_links(int devices, int count, std::size_t partial_bytes, std::size_t element_bytes) {
  Links links;
  if (devices == 1) return links;
  const std::vector<std::size_t> chunks = chunks_of(count, devices);
  for (int sender = 0; sender < devices; ++sender) {
    const int receiver = (sender + 1) % devices;
    const int finished_by_receiver = (receiver + 1) % devices;
    LinkTraffic link;
    for (int c = 0; c < devices; ++c) {
      const std::size_t length = chunks[static_cast<std::size_t>(c)];
      if (c != receiver) add_chunk(link, length, partial_bytes);
      if (c != finished_by_receiver) add_chunk(link, length, element_bytes);
    }
    if (link.copies > 0) links[{sender, receiver}] = link;
  }
  return links;
}

TEST(RingLinks, CarryEachChunkOnceAsAPartialSumAndOnceAsAResult) {
  testing::asserts("SEM-146");
  for (int devices : {1, 2, 3, 4, 5, 8}) {
    for (int count : {0, 1, 2, 7, 8, 12, 40, 41}) {
      SCOPED_TRACE(std::to_string(count) + " elements on " + std::to_string(devices));
      const Traffic traffic =
          traffic_of<std::int32_t>(std::make_shared<RingAllReduce>(), devices, count);
      EXPECT_EQ(traffic.links, ring_links(devices, count, 4, 4));
      EXPECT_EQ(traffic.remote_operands, 0U);
    }
  }
}

// Rounding partial sums to 16 bits would break SEM-33. Two devices add inputs alone.
TEST(RingLinks, CarryPartialSumsOfHalvesAsFloats) {
  testing::asserts("SEM-146");
  for (int devices : {2, 3, 5}) {
    const Traffic traffic =
        traffic_of<Float16>(std::make_shared<RingAllReduce>(), devices, 11, ReduceOp::kMean);
    EXPECT_EQ(traffic.links, ring_links(devices, 11, devices == 2 ? 2 : 4, 2));
    EXPECT_EQ(traffic.remote_operands, 0U);
  }
}

// Every whole tensor to device 0, and the result back: the counts tell the algorithms apart.
TEST(RingLinks, AreNotThoseOfAReductionToOneDevice) {
  const Traffic traffic = traffic_of<float>(std::make_shared<ReductionToOneDevice>(), 3, 12);
  const Links expected{{{0, 1}, {1, 48}}, {{0, 2}, {1, 48}}, {{1, 0}, {1, 48}}, {{2, 0}, {1, 48}}};
  EXPECT_EQ(traffic.links, expected);
  EXPECT_NE(traffic.links, ring_links(3, 12, 4, 4));
}

// 12 floats: in step k, members 2^k apart exchange 12 / 2^(k + 1) floats, and once more as results.
TEST(HalvingDoublingLinks, CarryHalfOfTheStepBefore) {
  testing::asserts("SEM-147");
  const auto algorithm = std::make_shared<HalvingDoublingAllReduce>();
  const Links expected{{{0, 1}, {2, 48}}, {{1, 0}, {2, 48}}, {{2, 3}, {2, 48}}, {{3, 2}, {2, 48}},
                       {{0, 2}, {2, 24}}, {{2, 0}, {2, 24}}, {{1, 3}, {2, 24}}, {{3, 1}, {2, 24}}};
  EXPECT_EQ(traffic_of<float>(algorithm, 4, 12).links, expected);
  // Member 1 gives member 0 its tensor, and receives the result; 0 and 2 exchange halves.
  const Links of_three{{{0, 1}, {1, 48}}, {{1, 0}, {1, 48}}, {{0, 2}, {2, 48}}, {{2, 0}, {2, 48}}};
  EXPECT_EQ(traffic_of<float>(algorithm, 3, 12).links, of_three);
}

TEST(TreeLinks, CarryTheTensorUpAndTheResultDown) {
  testing::asserts("SEM-147");
  const auto algorithm = std::make_shared<TreeAllReduce>();
  const Links expected{{{1, 0}, {1, 48}}, {{0, 1}, {1, 48}}, {{3, 2}, {1, 48}}, {{2, 3}, {1, 48}},
                       {{2, 0}, {1, 48}}, {{0, 2}, {1, 48}}, {{4, 0}, {1, 48}}, {{0, 4}, {1, 48}}};
  EXPECT_EQ(traffic_of<float>(algorithm, 5, 12).links, expected);
}

// Shards of 3, 3 and 5 floats belong to the members 0, 1 and 2.
TEST(ShuffleLinks, CarryAShardToItsMemberAndBack) {
  testing::asserts("SEM-147");
  const auto algorithm = std::make_shared<ShuffleAllReduce>();
  const Links expected{{{0, 1}, {2, 24}}, {{1, 0}, {2, 24}}, {{0, 2}, {2, 32}},
                       {{2, 0}, {2, 32}}, {{1, 2}, {2, 32}}, {{2, 1}, {2, 32}}};
  EXPECT_EQ(traffic_of<float>(algorithm, 3, 11).links, expected);
  // Inputs of 16 bits are added in one kernel: no float travels.
  const Links of_halves{{{0, 1}, {2, 12}}, {{1, 0}, {2, 12}}, {{0, 2}, {2, 16}},
                        {{2, 0}, {2, 16}}, {{1, 2}, {2, 16}}, {{2, 1}, {2, 16}}};
  EXPECT_EQ(traffic_of<Float16>(algorithm, 3, 11).links, of_halves);
}

// Five members: the groups {0, 1, 2} and {3, 4}.
TEST(HierarchicalLinks, CarryTheTensorWithinGroupsAndBetweenTheirFirstMembers) {
  testing::asserts("SEM-147");
  const Links expected{{{1, 0}, {1, 48}}, {{0, 1}, {1, 48}}, {{2, 0}, {1, 48}}, {{0, 2}, {1, 48}},
                       {{4, 3}, {1, 48}}, {{3, 4}, {1, 48}}, {{3, 0}, {1, 48}}, {{0, 3}, {1, 48}}};
  EXPECT_EQ(traffic_of<float>(std::make_shared<HierarchicalAllReduce>(), 5, 12).links, expected);
}

// The statement of an algorithm is its traffic, for all lengths and types.
TEST(Plans, StateTheTrafficOfTheirAlgorithms) {
  testing::asserts("SEM-147");
  const std::vector<std::shared_ptr<CrossDeviceOps>> algorithms{
      std::make_shared<ReductionToOneDevice>(),
      std::make_shared<RingAllReduce>(),
      std::make_shared<TreeAllReduce>(),
      std::make_shared<HalvingDoublingAllReduce>(),
      std::make_shared<ShuffleAllReduce>(),
      std::make_shared<ShuffleAllReduce>(4),
      std::make_shared<HierarchicalAllReduce>(),
      std::make_shared<RingAllReduce>(RingOptions{.start = 1})};
  for (const auto& algorithm : algorithms) {
    for (const int devices : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
      const ReductionPlan plan = algorithm->plan(devices).value();
      for (const int count : {0, 1, 2, 5, 13, 24}) {
        SCOPED_TRACE(std::string(algorithm->name()) + " of " + std::to_string(count) + " on " +
                     std::to_string(devices));
        const auto elements = static_cast<std::size_t>(count);
        const Traffic doubles = traffic_of<double>(algorithm, devices, count);
        EXPECT_EQ(doubles.links, plan.traffic(elements, DType::kFloat64));
        EXPECT_EQ(doubles.remote_operands, 0U);
        const Traffic halves = traffic_of<Float16>(algorithm, devices, count, ReduceOp::kMean);
        EXPECT_EQ(halves.links, plan.traffic(elements, DType::kFloat16));
      }
    }
  }
}

}  // namespace
}  // namespace belfry::links_test
