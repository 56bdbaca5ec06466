// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Rows P02 to P15 of the conformance table: which tensors are in which pack (SEM-149).
#include "collectives/packs.h"

#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <vector>

namespace belfry::packs_test {
namespace {

using Packs = std::vector<Pack>;

std::vector<PackItem> bytes(const std::vector<std::size_t>& sizes) {
  std::vector<PackItem> items;
  for (const std::size_t size : sizes) items.push_back({size, DType::kUInt8});
  return items;
}

// Items of any size below the bound are packed.
Packs by_bytes(const std::vector<PackItem>& items, std::int64_t bytes_per_pack) {
  return packs_of(items, {.bytes_per_tensor = 0, .bytes_per_pack = bytes_per_pack});
}

TEST(PackPlans, P02_WithoutABoundHasOnePack) {
  testing::asserts("SEM-149");
  EXPECT_EQ(by_bytes(bytes({100, 100}), 0), (Packs{{0, 1}}));
}

// A pack with 100 bytes takes an item more; a pack with 101 or 200 bytes takes none.
TEST(PackPlans, P04_ClosesAPackBeyondTheBound) {
  testing::asserts("SEM-149");
  EXPECT_EQ(by_bytes(bytes({100, 100, 100}), 100), (Packs{{1, 2}, {0}}));
  EXPECT_EQ(by_bytes(bytes({1, 1, 50, 50}), 100), (Packs{{1, 2, 3}, {0}}));
}

TEST(PackPlans, P05_GivesALargerItemItsOwnPack) {
  testing::asserts("SEM-149");
  EXPECT_EQ(by_bytes(bytes({101, 1, 1}), 100), (Packs{{1, 2}, {0}}));
  EXPECT_EQ(by_bytes(bytes({1, 1, 101}), 100), (Packs{{2}, {0, 1}}));
}

// From the last: 50 + 60 bytes are beyond the bound.
TEST(PackPlans, P06_PacksTheLastItemsFirst) {
  testing::asserts("SEM-149");
  EXPECT_EQ(by_bytes(bytes({160, 160, 160}), 100), (Packs{{2}, {1}, {0}}));
  EXPECT_EQ(by_bytes(bytes({60, 60, 50}), 100), (Packs{{1, 2}, {0}}));
}

// Overridden: the bound of packs is in bytes. Tensors are not cut, and no number of packs is named.
TEST(PackPlans, P08_P09_CutNoTensor) {
  testing::asserts("SEM-149");
  EXPECT_EQ(by_bytes(bytes({33, 60, 7}), 14), (Packs{{2}, {1}, {0}}));
  EXPECT_EQ(by_bytes(bytes({0, 1, 0, 1}), 0), (Packs{{1, 3}}));
  EXPECT_EQ(by_bytes(bytes({0, 0}), 0), (Packs{}));
}

// The pack of item 2 is complete at once, the pack of items 1 and 3 two steps later.
TEST(PackPlans, P10_HaveOneElementTypeEach) {
  testing::asserts("SEM-149");
  const std::vector<PackItem> items{
      {1, DType::kFloat32}, {1, DType::kInt32}, {1, DType::kFloat32}, {1, DType::kInt32}};
  EXPECT_EQ(by_bytes(items, 0), (Packs{{1, 3}, {0, 2}}));
}

// Overridden: packs are bounded in bytes, not by a number of tensors. 12 items of 20 bytes have
// 240.
TEST(PackPlans, P11_AreBoundedByBytesAlone) {
  testing::asserts("SEM-149");
  const std::vector<PackItem> items(40, {5, DType::kFloat32});
  std::vector<std::size_t> sizes;
  for (const Pack& pack : by_bytes(items, 239)) sizes.push_back(pack.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{12, 12, 12, 4}));
}

// Overridden: small tensors share packs with any others of their element type, not with neighbours
// alone. The pack stays open while a larger item gets a pack.
TEST(PackPlans, P12_LeaveLargerItemsAlone) {
  testing::asserts("SEM-149");
  const auto items = bytes({1, 99, 1, 99, 1, 1, 1, 99, 99, 1});
  EXPECT_EQ(packs_of(items, {.bytes_per_tensor = 10, .bytes_per_pack = 0}),
            (Packs{{8}, {7}, {3}, {1}, {0, 2, 4, 5, 6, 9}}));
  EXPECT_EQ(by_bytes(bytes({1, 1000, 1}), 100), (Packs{{1}, {0, 2}}));
}

// From the last: 4 bytes are an item more than the bound of 3.
TEST(PackPlans, P13_CountATensorOfTheBoundAsSmall) {
  testing::asserts("SEM-149");
  const auto items = bytes({1, 1, 3, 1, 2, 1, 1, 1});
  EXPECT_EQ(packs_of(items, {.bytes_per_tensor = 1, .bytes_per_pack = 3}),
            (Packs{{4}, {3, 5, 6, 7}, {2}, {0, 1}}));
  EXPECT_EQ(packs_of(items, {.bytes_per_tensor = 2, .bytes_per_pack = 0}),
            (Packs{{2}, {0, 1, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(packs_of(items, {.bytes_per_tensor = 9, .bytes_per_pack = 3}), by_bytes(items, 3));
}

// Overridden: tensors of every element type are packed, each type apart.
TEST(PackPlans, P14_HaveTensorsOfEveryType) {
  testing::asserts("SEM-149");
  const std::vector<PackItem> items{
      {2, DType::kFloat32}, {2, DType::kFloat16}, {2, DType::kFloat32}};
  EXPECT_EQ(by_bytes(items, 100), (Packs{{1}, {0, 2}}));
  const std::vector<PackItem> halves(2, {2, DType::kFloat16});
  EXPECT_EQ(by_bytes(halves, 100), (Packs{{0, 1}}));
}

std::vector<PackItem> any_items() {
  const auto types = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, kNumDTypes));
  std::vector<PackItem> items;
  for (const int type : types) {
    const auto elements = *rc::gen::inRange<std::size_t>(0, 20);
    items.push_back({elements, static_cast<DType>(type % 2 == 0 ? type : 0)});
  }
  return items;
}

// Whether the bytes are within a bound; 0 is no bound.
bool is_within(std::size_t bytes, int bound) {
  return bound == 0 || bytes <= static_cast<std::size_t>(bound);
}

// The item that a pack took last, the one with the lowest index, may exceed the bound of the pack.
RC_GTEST_PROP(PackPlans, P15_KeepBoundsAndHaveEachElementOnce, ()) {
  testing::asserts("SEM-149");
  const std::vector<PackItem> items = any_items();
  const auto limit = *rc::gen::inRange(0, 100);
  const auto largest = *rc::gen::inRange(0, 100);
  std::vector<int> times(items.size());
  for (const Pack& pack : packs_of(items, {.bytes_per_tensor = largest, .bytes_per_pack = limit})) {
    std::size_t before_the_last = 0;
    for (std::size_t i = 0; i < pack.size(); ++i) {
      const PackItem& item = items[pack[i]];
      times[pack[i]] += 1;
      RC_ASSERT(item.dtype == items[pack[0]].dtype);
      if (i > 0) RC_ASSERT(pack[i - 1] < pack[i]);
      RC_ASSERT(pack.size() == 1 ||
                (is_within(item.bytes(), largest) && is_within(item.bytes(), limit)));
      if (i != 0) before_the_last += item.bytes();
    }
    RC_ASSERT(is_within(before_the_last, limit));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    RC_ASSERT(times[i] == (items[i].elements == 0 ? 0 : 1));
  }
}

}  // namespace
}  // namespace belfry::packs_test
