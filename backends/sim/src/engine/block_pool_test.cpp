// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/block_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace belfry::engine::block_pool_test {
namespace {

std::uintptr_t number_of(const Block& block) {
  return reinterpret_cast<std::uintptr_t>(block.data);
}

TEST(BlockPool, BlocksAreLargeEnoughAndAligned) {
  BlockPool pool;
  std::vector<Block> blocks;
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u, 4095u, 4097u, 100'000u}) {
    blocks.push_back(pool.take(bytes));
    EXPECT_GE(blocks.back().capacity, bytes);
    EXPECT_LE(blocks.back().capacity, bytes + bytes / 4 + 64) << bytes;
    EXPECT_EQ(number_of(blocks.back()) % 64, 0u);
    std::memset(blocks.back().data, 1, blocks.back().capacity);
  }
  for (const Block& block : blocks) pool.give(block);
}

TEST(BlockPool, ABlockGivenBackIsTheNextOneTaken) {
  BlockPool pool;
  const Block first = pool.take(5000);
  pool.give(first);
  const Block second = pool.take(5100);
  EXPECT_EQ(first.data, second.data);
  pool.give(second);
}

// Cache sets repeat every 4096 bytes in a first-level cache of 64 sets: blocks of equal size on
// eight devices must begin at different places in a page.
TEST(BlockPool, NeighboursAreStaggered) {
  std::set<std::uintptr_t> places;
  std::vector<std::unique_ptr<BlockPool>> pools;
  std::vector<Block> blocks;
  for (std::uint64_t device = 0; device < 8; ++device) {
    pools.push_back(std::make_unique<BlockPool>(device));
    blocks.push_back(pools.back()->take(std::size_t{1} << 20));
    places.insert(number_of(blocks.back()) % 4096);
  }
  EXPECT_EQ(places.size(), 8u);
  for (std::size_t device = 0; device < 8; ++device) pools[device]->give(blocks[device]);
}

// A row of a memory bank is 8 KiB; sixteen large blocks begin in sixteen different rows.
TEST(BlockPool, LargeBlocksOfSixteenDevicesBeginInDifferentRows) {
  std::set<std::ptrdiff_t> rows;
  for (std::uint64_t device = 0; device < 16; ++device) {
    BlockPool pool(device);
    const Block block = pool.take(std::size_t{4} << 20);
    rows.insert((block.data - block.origin) / 8192);
    pool.give(block);
  }
  EXPECT_EQ(rows.size(), 16u);
}

TEST(BlockPool, SteadyUseTouchesNoFreshPage) {
  BlockPool pool;
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  const auto use = [&] {
    const Block block = pool.take(kBytes);
    std::memset(block.data, 7, kBytes);
    pool.give(block);
  };
  use();
  rusage before{};
  rusage after{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &before), 0);
  for (int i = 0; i < 20; ++i) use();
  ASSERT_EQ(getrusage(RUSAGE_SELF, &after), 0);
  // 20 times 1024 pages would fault if the memory went back to the system in between. Page faults
  // of the rest of the process stay far below the faults of a round.
  EXPECT_LT(after.ru_minflt - before.ru_minflt, 1024);
}

TEST(BlockPool, WhatCannotExistIsRefused) {
  BlockPool pool;
  EXPECT_THROW(pool.take(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(pool.take(SIZE_MAX / 2), std::bad_alloc);
}

}  // namespace
}  // namespace belfry::engine::block_pool_test
