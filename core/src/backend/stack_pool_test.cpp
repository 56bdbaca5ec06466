// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/stack_pool.h"

#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace belfry::detail::stack_pool_test {
namespace {

constexpr std::size_t kBytes = 64 << 10;

TEST(StackPool, StacksNeverOverlapAndLeaveAPageBetween) {
  StackPool pool;
  std::vector<Stack> stacks;
  pool.take(kBytes, 20, stacks);
  pool.take(kBytes, 30, stacks);
  ASSERT_EQ(stacks.size(), 50U);
  std::sort(stacks.begin(), stacks.end(),
            [](const Stack& a, const Stack& b) { return a.low < b.low; });
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    EXPECT_EQ(stacks[i].high - stacks[i].low, static_cast<std::ptrdiff_t>(kBytes));
    EXPECT_GE(stacks[i].low - (i > 0 ? stacks[i - 1].high : nullptr), 4096);
  }
  pool.give(kBytes, stacks);
}

TEST(StackPool, FindsTheStackOfAnAddress) {
  StackPool pool;
  EXPECT_EQ(pool.all_stacks().low, nullptr);
  std::vector<Stack> stacks;
  pool.take(kBytes, 3, stacks);
  pool.take(2 * kBytes, 2, stacks);
  const auto low_of = [&](const char* address) {
    const char* const low = pool.stack_around(address).low;
    return low == nullptr ? -1 : address - low;
  };
  for (const Stack& stack : stacks) {
    const MemoryRange found = pool.stack_around(stack.low + 100);
    EXPECT_EQ(found.low, stack.low);
    EXPECT_EQ(found.high, stack.high);
    EXPECT_EQ(low_of(stack.low), 0);
    EXPECT_EQ(low_of(stack.high - 1), stack.high - stack.low - 1);
    EXPECT_EQ(low_of(stack.low - 1), -1);
    EXPECT_EQ(low_of(stack.high), -1);
    EXPECT_GE(stack.low, pool.all_stacks().low);
    EXPECT_LE(stack.high, pool.all_stacks().high);
  }
  const char here = 0;
  EXPECT_EQ(low_of(&here), -1);
}

// Each of the 128 sets of a TLB should hold hardly more tops than its share.
TEST(StackPool, TopsAreSpreadOverTheSetsOfATlb) {
  StackPool pool;
  std::vector<Stack> stacks;
  pool.take(512 << 10, 1024, stacks);
  std::array<int, 128> lower{};
  std::array<int, 128> mixed{};
  for (const Stack& stack : stacks) {
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(stack.high - 1) / 4096;
    ++lower[page % 128];
    ++mixed[(page ^ page >> 7) % 128];
  }
  EXPECT_LE(std::ranges::max(lower), 8);
  EXPECT_LE(std::ranges::max(mixed), 24);
}

TEST(StackPool, WhatWasGivenIsTakenAgain) {
  StackPool pool;
  std::vector<Stack> stacks;
  pool.take(kBytes, 3, stacks);
  const char* const low = stacks[0].low;
  pool.give(kBytes, stacks);
  EXPECT_TRUE(stacks.empty());
  pool.take(kBytes, 3, stacks);
  EXPECT_TRUE(std::any_of(stacks.begin(), stacks.end(),
                          [&](const Stack& stack) { return stack.low == low; }));
  std::vector<Stack> larger;
  pool.take(2 * kBytes, 1, larger);
  EXPECT_EQ(larger[0].high - larger[0].low, static_cast<std::ptrdiff_t>(2 * kBytes));
}

TEST(StackPool, PagesBeyondTheFirstThousandsGoBackToTheSystem) {
  StackPool pool(StackPool::Guards::kNone);
  std::vector<Stack> stacks;
  pool.take(16 << 10, 5000, stacks);
  for (const Stack& stack : stacks) stack.high[-1] = 1;
  pool.give(16 << 10, stacks);
  pool.take(16 << 10, 5000, stacks);
  const auto warm = std::count_if(stacks.begin(), stacks.end(),
                                  [](const Stack& stack) { return stack.high[-1] == 1; });
  EXPECT_EQ(warm, 4096);
}

TEST(StackPool, TheFootOfAnUnguardedStackTellsOfAnOverflow) {
  StackPool pool(StackPool::Guards::kNone);
  StackCache cache(pool, kBytes);
  cache.promise(1);
  const Stack stack = cache.take();
  EXPECT_FALSE(stack.guarded);
  EXPECT_FALSE(overflowed(stack));
  stack.low[600] = 1;  // Deep, but not at the foot.
  EXPECT_FALSE(overflowed(stack));
  stack.low[511] = 1;
  EXPECT_TRUE(overflowed(stack));
}

class Guarded : public ::testing::TestWithParam<StackPool::Guards> {};
using GuardedDeathTest = Guarded;

INSTANTIATE_TEST_SUITE_P(Kinds, GuardedDeathTest,
                         ::testing::Values(StackPool::Guards::kBest, StackPool::Guards::kPages));

TEST_P(GuardedDeathTest, AnAccessBelowAGuardedStackFaults) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  StackPool pool(GetParam());
  StackCache cache(pool, kBytes);
  cache.promise(1);
  const Stack stack = cache.take();
  ASSERT_TRUE(stack.guarded);
  stack.low[0] = 1;
  EXPECT_DEATH(*static_cast<volatile char*>(stack.low - 1) = 1, "");
}

TEST(StackCache, RoundsUpToWholePagesAndAnEvenNumberOfThem) {
  StackPool pool;
  EXPECT_EQ(StackCache(pool, 1).bytes(), 16384U);
  EXPECT_EQ(StackCache(pool, 65536).bytes(), 65536U);
  EXPECT_EQ(StackCache(pool, 65537).bytes(), 73728U);  // 17 pages become 18.
}

TEST(StackPool, MoreThanTheAddressSpaceIsAnError) {
  StackPool pool;
  std::vector<Stack> stacks;
  const auto take = [&] { pool.take(std::size_t{1} << 40, 1024, stacks); };  // 2^50 bytes of 2^47.
  EXPECT_EQ(report_of(take).code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(stacks.empty());
}

}  // namespace
}  // namespace belfry::detail::stack_pool_test
