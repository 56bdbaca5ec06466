// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Rows P02 to P15 and C08 to C10 of the conformance table: which elements are in which pack
// (SEM-149).
#include "belfry/pack_plan.h"

#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace belfry::pack_plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Groups = std::vector<std::vector<std::size_t>>;

std::vector<PackItem> bytes(const std::vector<std::size_t>& sizes) {
  std::vector<PackItem> items;
  for (const std::size_t size : sizes) items.push_back({size, DType::kUInt8});
  return items;
}

Groups groups_of(const PackPlan& plan) {
  validate(plan);
  Groups groups;
  for (const PackedTensor& pack : plan.packs) {
    groups.emplace_back();
    for (const PackSlice& slice : pack.slices) groups.back().push_back(slice.item);
  }
  return groups;
}

std::vector<std::size_t> lengths_of(const PackPlan& plan) {
  validate(plan);
  std::vector<std::size_t> lengths;
  for (const PackedTensor& pack : plan.packs) lengths.push_back(pack.elements());
  return lengths;
}

TEST(PackByBytes, P02_WithoutABoundHasOnePack) {
  testing::asserts("SEM-149");
  EXPECT_EQ(groups_of(pack_by_bytes(bytes({100, 100}), 0)), (Groups{{0, 1}}));
}

// A pack with 100 bytes takes an item more; a pack with 101 or 200 bytes takes none.
TEST(PackByBytes, P04_ClosesAPackBeyondTheBound) {
  testing::asserts("SEM-149");
  const auto plan = pack_by_bytes(bytes({100, 100, 100}), 100, PackOrder::kFirstFirst);
  EXPECT_EQ(groups_of(plan), (Groups{{0, 1}, {2}}));
  const auto small = pack_by_bytes(bytes({50, 50, 1, 1}), 100, PackOrder::kFirstFirst);
  EXPECT_EQ(groups_of(small), (Groups{{0, 1, 2}, {3}}));
}

TEST(PackByBytes, P05_GivesALargerItemItsOwnPack) {
  testing::asserts("SEM-149");
  const auto plan = pack_by_bytes(bytes({101, 1, 1}), 100, PackOrder::kFirstFirst);
  EXPECT_EQ(groups_of(plan), (Groups{{0}, {1, 2}}));
  EXPECT_EQ(groups_of(pack_by_bytes(bytes({101, 1, 1}), 100)), (Groups{{1, 2}, {0}}));
}

// From the last: 50 + 60 bytes are beyond the bound.
TEST(PackByBytes, P06_PacksTheLastItemsFirst) {
  testing::asserts("SEM-149");
  EXPECT_EQ(groups_of(pack_by_bytes(bytes({160, 160, 160}), 100)), (Groups{{2}, {1}, {0}}));
  EXPECT_EQ(groups_of(pack_by_bytes(bytes({60, 60, 50}), 100)), (Groups{{1, 2}, {0}}));
}

// The pack of items 0 and 2 stays open while item 1 gets a pack.
TEST(PackByBytes, CopiesNoLargeItem) {
  testing::asserts("SEM-149");
  const auto plan = pack_by_bytes(bytes({1, 1000, 1}), 100, PackOrder::kFirstFirst);
  EXPECT_EQ(groups_of(plan), (Groups{{1}, {0, 2}}));
}

// From the last: 4 bytes are an item more than the bound of 3.
TEST(PackSmallItems, LeavesLargerItemsAlone) {
  testing::asserts("SEM-149");
  const auto items = bytes({1, 1, 3, 1, 2, 1, 1, 1});
  EXPECT_EQ(groups_of(pack_small_items(items, 1, 3)), (Groups{{4}, {3, 5, 6, 7}, {2}, {0, 1}}));
  EXPECT_EQ(groups_of(pack_small_items(items, 2, 0)), (Groups{{2}, {0, 1, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(pack_small_items(items, 0, 3), pack_by_bytes(items, 3));
  EXPECT_EQ(pack_small_items(items, 9, 3), pack_by_bytes(items, 3));
}

// The pack of item 2 is complete at once, the pack of items 1 and 3 two steps later.
TEST(PackByBytes, PacksFollowTheirLastItems) {
  const std::vector<PackItem> items{
      {1, DType::kFloat32}, {1, DType::kInt32}, {1, DType::kFloat32}, {1, DType::kInt32}};
  EXPECT_EQ(groups_of(pack_by_bytes(items, 0)), (Groups{{1, 3}, {0, 2}}));
  EXPECT_EQ(groups_of(pack_by_bytes(items, 0, PackOrder::kFirstFirst)), (Groups{{0, 2}, {1, 3}}));
}

TEST(ConcatenateAndSplit, P08_GivesTheRestToTheLastPack) {
  testing::asserts("SEM-149");
  EXPECT_THAT(lengths_of(concatenate_and_split(bytes({33, 60, 7}), 7)),
              ElementsAre(14, 14, 14, 14, 14, 14, 16));
}

// Overridden: packs without elements are left out. TensorFlow has seven before the last.
TEST(ConcatenateAndSplit, P09_LeavesEmptyPacksOut) {
  testing::asserts("SEM-149");
  EXPECT_THAT(lengths_of(concatenate_and_split(bytes({1, 1}), 8)), ElementsAre(2));
  EXPECT_THAT(lengths_of(concatenate_and_split(bytes({0, 0}), 8)), ElementsAre());
}

TEST(ConcatenateAndSplit, P10_HasAPackForEachElementType) {
  testing::asserts("SEM-149");
  const std::vector<PackItem> items{{3, DType::kFloat32}, {2, DType::kFloat64}};
  EXPECT_EQ(groups_of(concatenate_and_split(items, 1)), (Groups{{0}, {1}}));
}

TEST(SmallTensors, P11_AreInGroupsOfAtMostTheLimit) {
  testing::asserts("SEM-149");
  const std::vector<PackItem> items(40, {5, DType::kFloat32});
  EXPECT_THAT(lengths_of(aggregate_small_tensors(items, 20, 10)), ElementsAre(50, 50, 50, 50));
}

TEST(SmallTensors, P12_AreGroupedWithNeighboursAlone) {
  testing::asserts("SEM-149");
  const auto items = bytes({1, 99, 1, 99, 1, 1, 1, 99, 99, 1});
  EXPECT_EQ(groups_of(aggregate_small_tensors(items, 10, 10)),
            (Groups{{4, 5, 6}, {0}, {1}, {2}, {3}, {7}, {8}, {9}}));
}

TEST(SmallTensors, P13_HaveAtMostTheBytes) {
  const std::vector<PackItem> equal(2, {25, DType::kFloat32});
  EXPECT_EQ(groups_of(aggregate_small_tensors(equal, 100, 10)), (Groups{{0, 1}}));
  EXPECT_EQ(groups_of(aggregate_small_tensors(equal, 99, 10)), (Groups{{0}, {1}}));
}

// Overridden: tensors of every element type are packed, each type apart.
TEST(SmallTensors, P14_OfAnotherTypeAreNotPackedWithFloats) {
  const std::vector<PackItem> items{
      {2, DType::kFloat32}, {2, DType::kFloat16}, {2, DType::kFloat32}};
  EXPECT_EQ(groups_of(aggregate_small_tensors(items, 100, 10)), (Groups{{0}, {1}, {2}}));
  const std::vector<PackItem> halves(2, {2, DType::kFloat16});
  EXPECT_EQ(groups_of(aggregate_small_tensors(halves, 100, 10)), (Groups{{0, 1}}));
}

TEST(PackPlans, C08_C09_C10_RefuseWrongLimits) {
  testing::asserts("SEM-149");
  EXPECT_THROW(pack_by_bytes(bytes({1}), -1), InvalidArgumentError);
  EXPECT_NO_THROW(pack_by_bytes(bytes({1}), 0));
  EXPECT_THROW(concatenate_and_split(bytes({1}), -1), InvalidArgumentError);
  EXPECT_THROW(pack_small_items(bytes({1}), -1, 1), InvalidArgumentError);
  EXPECT_THROW(pack_small_items(bytes({1}), 1, -1), InvalidArgumentError);
  EXPECT_THROW(concatenate_and_split(bytes({1}), 0), InvalidArgumentError);
  EXPECT_THROW(aggregate_small_tensors(bytes({1}), 0, 1), InvalidArgumentError);
  EXPECT_THROW(aggregate_small_tensors(bytes({1}), 1, 0), InvalidArgumentError);
}

TEST(PackPlans, ArePrintedPackByPack) {
  EXPECT_EQ(to_string(concatenate_and_split(bytes({2, 2}), 1)),
            "pack 0, uint8, 4 elements: item 0 [0, 2), item 1 [0, 2)\n");
}

std::string refusal(const PackPlan& plan) {
  try {
    validate(plan);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "";
}

TEST(PackPlans, ThatLoseOrRepeatElementsAreRefused) {
  testing::asserts("SEM-149");
  const auto items = bytes({3});
  EXPECT_EQ(refusal({items, {{DType::kUInt8, {{0, 0, 3, 0}}}}}), "");
  EXPECT_THAT(refusal({items, {}}), HasSubstr("element 0 of item 0 is in no pack"));
  EXPECT_THAT(refusal({items, {{DType::kUInt8, {}}}}), HasSubstr("pack 0 is empty"));
  EXPECT_THAT(refusal({items, {{DType::kUInt8, {{1, 0, 3, 0}}}}}), HasSubstr("does not exist"));
  EXPECT_THAT(refusal({items, {{DType::kInt8, {{0, 0, 3, 0}}}}}), HasSubstr("another element"));
  EXPECT_THAT(refusal({items, {{DType::kUInt8, {{0, 1, 3, 0}}}}}), HasSubstr("beyond its end"));
  EXPECT_THAT(refusal({items, {{DType::kUInt8, {{0, 0, 3, 1}}}}}), HasSubstr("with a gap"));
  EXPECT_THAT(refusal({items, {{DType::kUInt8, {{0, 0, 2, 0}, {0, 1, 2, 2}}}}}),
              HasSubstr("element 1 of item 0 is in two packs"));
}

// A replica has an item more in its second pack.
TEST(PackPlans, ThatDifferBetweenReplicasAreReported) {
  testing::asserts("SEM-149");
  const PackPlan plan = concatenate_and_split(bytes({2, 1}), 2);
  const PackPlan longer = concatenate_and_split(bytes({2, 2}), 2);
  require_equal_plans({});
  require_equal_plans(std::vector{plan, plan});
  testing::at_each_place(4, [&](int odd) {
    std::vector<PackPlan> plans(4, plan);
    plans[static_cast<std::size_t>(odd)] = longer;
    try {
      require_equal_plans(plans);
      FAIL() << "different plans";
    } catch (const StructureMismatchError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStructure);
      const std::vector<ReplicaReport>& replicas = error.report().replicas;
      ASSERT_EQ(replicas.size(), 2U);
      EXPECT_EQ(replicas[0].replica_id, 0);
      EXPECT_EQ(replicas[1].replica_id, odd == 0 ? 1 : odd);
      EXPECT_EQ(replicas[odd == 0 ? 1 : 0].what, "has pack 0, uint8, 1 elements: item 0 [0, 1)");
      EXPECT_EQ(replicas[odd == 0 ? 0 : 1].what, "has pack 0, uint8, 2 elements: item 0 [0, 2)");
    }
  });
  const PackPlan one = concatenate_and_split(bytes({1}), 1);
  try {
    require_equal_plans(std::vector{one, PackPlan{}});
    FAIL() << "different plans";
  } catch (const StructureMismatchError& error) {
    EXPECT_EQ(error.report().replicas[1].what, "has 0 packs");
  }
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

// The items of each pack without the item that was packed last have at most `limit` bytes.
void require_bounded(const PackPlan& plan, std::size_t limit, PackOrder order) {
  for (const PackedTensor& pack : plan.packs) {
    const PackSlice& last =
        order == PackOrder::kLastFirst ? pack.slices.front() : pack.slices.back();
    const std::size_t last_bytes = plan.items[last.item].bytes();
    RC_ASSERT(pack.bytes() - last_bytes <= limit);
    RC_ASSERT(pack.slices.size() == 1 || last_bytes <= limit);
  }
}

RC_GTEST_PROP(PackPlans, P15_KeepBoundsAndHaveEachElementOnce, ()) {
  testing::asserts("SEM-149");
  const std::vector<PackItem> items = any_items();
  const auto limit = *rc::gen::inRange(0, 100);
  const auto largest = *rc::gen::inRange(1, 100);
  const PackPlan selected = pack_small_items(items, largest, limit);
  validate(selected);
  for (const PackedTensor& pack : selected.packs) {
    for (const PackSlice& slice : pack.slices) {
      RC_ASSERT(pack.slices.size() == 1 ||
                items[slice.item].bytes() <= static_cast<std::size_t>(largest));
    }
  }
  for (const PackOrder order : {PackOrder::kLastFirst, PackOrder::kFirstFirst}) {
    const PackPlan plan = pack_by_bytes(items, limit, order);
    validate(plan);
    RC_ASSERT(plan == pack_by_bytes(items, limit, order));
    if (limit != 0) require_bounded(plan, static_cast<std::size_t>(limit), order);
    for (const PackedTensor& pack : plan.packs) {
      for (std::size_t i = 1; i < pack.slices.size(); ++i) {
        RC_ASSERT(pack.slices[i - 1].item < pack.slices[i].item);
      }
    }
  }
  const PackPlan split = concatenate_and_split(items, limit + 1);
  validate(split);
  const PackPlan small = aggregate_small_tensors(items, limit + 1, 3);
  validate(small);
  for (const PackedTensor& pack : small.packs) {
    RC_ASSERT(pack.slices.size() <= 3U);
    for (const PackSlice& slice : pack.slices) {
      RC_ASSERT(pack.slices.size() == 1 ||
                items[slice.item].bytes() <= static_cast<std::size_t>(limit) + 1);
    }
  }
}

}  // namespace
}  // namespace belfry::pack_plan_test
