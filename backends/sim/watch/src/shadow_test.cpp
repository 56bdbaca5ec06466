// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "shadow.h"

#include <gtest/gtest.h>

#include <array>

namespace belfry::sim::watch {
namespace {

constexpr std::uintptr_t kLeaf = std::uintptr_t{1} << 22;

std::array<bool, 8> set_lanes(Agents lanes) {
  std::array<bool, 8> set{};
  for (unsigned k = 0; k < 8; ++k) set[k] = lanes[k] != 0;
  return set;
}

TEST(Lanes, AreTheBytesOfARange) {
  EXPECT_FALSE(any(lanes_of(3, 0)));
  EXPECT_EQ(set_lanes(lanes_of(0, 8)),
            (std::array{true, true, true, true, true, true, true, true}));
  EXPECT_EQ(set_lanes(lanes_of(5, 2)),
            (std::array{false, false, false, false, false, true, true, false}));
  EXPECT_EQ(lanes_of(7, 1)[7], 0xFFFF);
}

TEST(Shadow, HasAGranuleForEightBytes) {
  Shadow shadow;
  EXPECT_EQ(&shadow.at(0x10000), &shadow.at(0x10007));
  EXPECT_NE(&shadow.at(0x10007), &shadow.at(0x10008));
  EXPECT_EQ(shadow.at(0x10008).phase, 0U);
}

TEST(Shadow, ForgetsTheBytesOfARangeAcrossLeaves) {
  Shadow shadow;
  const auto mark = [&](std::uintptr_t address) {
    Granule& granule = shadow.at(address);
    granule.phase = 1;
    granule.writers.agents = granule.readers.agents = granule.others.agents = Agents{} + 7;
  };
  for (const std::uintptr_t at : {kLeaf - 16, kLeaf - 8, kLeaf, kLeaf + 8}) mark(at);
  shadow.forget(kLeaf - 13, 23);  // The last 5 bytes of the first granule, 2 of the last.
  EXPECT_EQ(shadow.at(kLeaf - 16).writers.agents[2], 7);
  EXPECT_EQ(shadow.at(kLeaf - 16).writers.agents[3], 0);
  EXPECT_EQ(shadow.at(kLeaf - 16).phase, 1U);
  EXPECT_EQ(shadow.at(kLeaf - 8).phase, 0U);
  EXPECT_EQ(shadow.at(kLeaf).phase, 0U);
  EXPECT_EQ(shadow.at(kLeaf + 8).phase, 1U);
  EXPECT_EQ(shadow.at(kLeaf + 8).writers.agents[1], 0);
  EXPECT_EQ(shadow.at(kLeaf + 8).writers.agents[2], 7);
}

TEST(Shadow, ForgetsMemoryThatNobodyTouched) {
  Shadow shadow;
  shadow.forget(3 * kLeaf + 5, 100000);
  EXPECT_EQ(shadow.at(3 * kLeaf + 8).phase, 0U);
}

}  // namespace
}  // namespace belfry::sim::watch
