// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Rings with options: rows of the conformance table, and refusals.
#include "belfry/belfry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::ring_all_reduce_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Table = std::vector<std::vector<int>>;

// The place of each member in each ring.
Table ranks(const RingOptions& options, int members) {
  Table ranks;
  for (const std::vector<int>& ring : RingAllReduce(options).rings(members)) {
    std::vector<int> rank(ring.size());
    for (std::size_t place = 0; place < ring.size(); ++place) {
      rank[static_cast<std::size_t>(ring[place])] = static_cast<int>(place);
    }
    ranks.push_back(rank);
  }
  return ranks;
}

// The member before each member in each ring.
Table predecessors(const RingOptions& options, int members) {
  Table all;
  for (const std::vector<int>& ring : RingAllReduce(options).rings(members)) {
    std::vector<int> before(ring.size());
    for (std::size_t place = 0; place < ring.size(); ++place) {
      before[static_cast<std::size_t>(ring[(place + 1) % ring.size()])] = ring[place];
    }
    all.push_back(before);
  }
  return all;
}

RingOptions options(int hosts, int subchunks, std::vector<int> permutation) {
  return {.hosts = hosts, .permutation = std::move(permutation), .subchunks = subchunks};
}

std::string refusal(const RingOptions& options, int devices = 0) {
  try {
    const auto ring = std::make_shared<RingAllReduce>(options);
    HostBackend backend(devices == 0 ? 2 : devices);
    MirroredStrategy strategy(backend, {.cross_device_ops = ring});
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

// Overridden: no chunks could hold the elements.
TEST(Rings, G02_RingsWithoutSubchunksAreRefused) {
  EXPECT_THAT(refusal(options(1, 0, {})), HasSubstr("0 subchunks"));
}

TEST(Rings, G03_OneDeviceIsItsOwnPredecessor) {
  EXPECT_EQ(predecessors(options(1, 1, {0}), 1), (Table{{0}}));
  EXPECT_EQ(ranks(options(1, 1, {0}), 1), (Table{{0}}));
}

TEST(Rings, G04_OneHostOfThree) {
  EXPECT_EQ(predecessors(options(1, 1, {0, 1, 2}), 3), (Table{{2, 0, 1}}));
  EXPECT_EQ(ranks(options(1, 1, {0, 1, 2}), 3), (Table{{0, 1, 2}}));
}

TEST(Rings, G05_TwoHostsOfThree) {
  EXPECT_EQ(predecessors(options(2, 1, {0, 1, 2}), 6), (Table{{5, 0, 1, 2, 3, 4}}));
  EXPECT_EQ(ranks(options(2, 1, {0, 1, 2}), 6), (Table{{0, 1, 2, 3, 4, 5}}));
}

TEST(Rings, G06_ThreeHostsOfThree) {
  EXPECT_EQ(predecessors(options(3, 1, {0, 1, 2}), 9), (Table{{8, 0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(ranks(options(3, 1, {0, 1, 2}), 9), (Table{{0, 1, 2, 3, 4, 5, 6, 7, 8}}));
}

TEST(Rings, G07_TwoHostsInReverse) {
  EXPECT_EQ(predecessors(options(2, 1, {2, 1, 0}), 6), (Table{{1, 2, 3, 4, 5, 0}}));
  EXPECT_EQ(ranks(options(2, 1, {2, 1, 0}), 6), (Table{{2, 1, 0, 5, 4, 3}}));
}

TEST(Rings, G08_TwoSubchunksOfFour) {
  EXPECT_EQ(predecessors(options(1, 2, {0, 1, 2, 3}), 4), (Table{{3, 0, 1, 2}, {3, 0, 1, 2}}));
  EXPECT_EQ(ranks(options(1, 2, {0, 1, 2, 3}), 4), (Table{{0, 1, 2, 3}, {2, 3, 0, 1}}));
}

TEST(Rings, G09_FourSubchunksOfFour) {
  const std::vector<int> row{3, 0, 1, 2};
  EXPECT_EQ(predecessors(options(1, 4, {0, 1, 2, 3}), 4), (Table{row, row, row, row}));
  EXPECT_EQ(ranks(options(1, 4, {0, 1, 2, 3}), 4),
            (Table{{0, 1, 2, 3}, {3, 0, 1, 2}, {2, 3, 0, 1}, {1, 2, 3, 0}}));
}

TEST(Rings, G10_TwoSubchunksOfTwoHosts) {
  EXPECT_EQ(predecessors(options(2, 2, {0, 1, 2, 3}), 8),
            (Table{{7, 0, 1, 2, 3, 4, 5, 6}, {3, 0, 5, 2, 7, 4, 1, 6}}));
  EXPECT_EQ(ranks(options(2, 2, {0, 1, 2, 3}), 8),
            (Table{{0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}}));
}

TEST(Rings, G11_TwoSubchunksOfTwoPermutedHosts) {
  EXPECT_EQ(predecessors(options(2, 2, {0, 3, 2, 1}), 8),
            (Table{{5, 2, 3, 0, 1, 6, 7, 4}, {1, 2, 7, 0, 5, 6, 3, 4}}));
  EXPECT_EQ(ranks(options(2, 2, {0, 3, 2, 1}), 8),
            (Table{{0, 3, 2, 1, 4, 7, 6, 5}, {2, 1, 0, 3, 6, 5, 4, 7}}));
}

TEST(Rings, G12_MoreSubchunksThanDevicesAreRefused) {
  EXPECT_THAT(refusal(options(1, 3, {0, 1})), HasSubstr("3 subchunks"));
  EXPECT_THAT(refusal({.subchunks = 3}, 2), HasSubstr("do not fit 2 replicas"));
}

TEST(Rings, WithWrongOptionsAreRefused) {
  EXPECT_THAT(refusal({.hosts = 0}), HasSubstr("0 hosts"));
  EXPECT_THAT(refusal({.start = -1}), HasSubstr("place -1"));
  EXPECT_THAT(refusal({.permutation = {0, 0}}), HasSubstr("lacks a number or has one twice"));
  EXPECT_THAT(refusal({.permutation = {1, 2}}), HasSubstr("lacks a number or has one twice"));
  EXPECT_THAT(refusal({.permutation = {1, 0}}, 3), HasSubstr("do not fit 3 replicas"));
  EXPECT_THAT(refusal({.hosts = 2}, 3), HasSubstr("do not fit 3 replicas"));
  EXPECT_EQ(refusal({.hosts = 2, .permutation = {1, 0}, .subchunks = 2, .start = 7}, 4), "");
}

TEST(Rings, HaveRingOrderOnlyWithoutOptions) {
  HostBackend backend(4);
  ReplicaDevices devices(backend, {0, 1, 2, 3});
  EXPECT_EQ(RingAllReduce().order(devices), ReductionOrder::kRing);
  EXPECT_EQ(RingAllReduce({.permutation = {0, 1, 2, 3}}).order(devices), ReductionOrder::kRing);
  EXPECT_EQ(RingAllReduce({.start = 1}).order(devices), ReductionOrder::kUnspecified);
  EXPECT_EQ(RingAllReduce({.subchunks = 2}).order(devices), ReductionOrder::kUnspecified);
  EXPECT_EQ(RingAllReduce({.permutation = {1, 0, 3, 2}}).order(devices),
            ReductionOrder::kUnspecified);
}

}  // namespace
}  // namespace belfry::ring_all_reduce_test
