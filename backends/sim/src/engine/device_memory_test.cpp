// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/device_memory.h"

#include "belfry/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace belfry::engine::device_memory_test {
namespace {

using ::testing::HasSubstr;

TEST(DeviceMemory, TheLimitIsExact) {
  const auto memory = DeviceMemory::create({.device = 0, .limit_bytes = 100});
  AllocationPtr a = memory->allocate(60);
  const AllocationPtr b = memory->allocate(40);
  try {
    memory->allocate(1);
    FAIL() << "the 101st byte was granted";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.what(), HasSubstr("1 bytes asked for, 100 in use by 2 buffers, limit 100"));
  }
  a.reset();
  EXPECT_NO_THROW(memory->allocate(60));
}

TEST(DeviceMemory, WhatNoAddressSpaceHoldsIsRefused) {
  // Shared bytes take up no memory until their first write: only this check can refuse.
  const auto memory = DeviceMemory::create({.device = 0, .share_copies = true});
  const AllocationPtr half = memory->allocate(std::size_t{1} << 46);
  const AllocationPtr other_half = memory->allocate(std::size_t{1} << 46);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 62, std::size_t{3} << 62}) {
    try {
      memory->allocate(bytes);
      ADD_FAILURE() << bytes << " bytes were granted";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    }
  }
  EXPECT_EQ(memory->use().live_bytes, std::size_t{1} << 47);
  EXPECT_EQ(memory->use().peak_bytes, std::size_t{1} << 47);
  EXPECT_EQ(memory->use().live_buffers, 2u);
}

TEST(DeviceMemory, EmptyAllocationsAreDistinct) {
  const auto memory = DeviceMemory::create({});
  const AllocationPtr a = memory->allocate(0);
  const AllocationPtr b = memory->allocate(0);
  EXPECT_NE(a->data(), nullptr);
  EXPECT_NE(a->data(), b->data());
  EXPECT_NE(a->resource(), b->resource());
}

TEST(DeviceMemory, PoisonMarksFreshAndFreedBytes) {
  const auto memory = DeviceMemory::create({.device = 0, .poison = true});
  AllocationPtr a = memory->allocate(64);
  EXPECT_EQ(a->data()[63], std::byte{kFreshPoison});
  const std::byte* const data = a->data();
  a->data()[5] = std::byte{1};
  a.reset();
  // The block is in the pool, and the test still owns the pool.
  EXPECT_EQ(data[5], std::byte{kFreedPoison});
}

TEST(DeviceMemory, AllocationsOutliveTheirDevice) {
  auto memory = DeviceMemory::create({});
  const AllocationPtr a = memory->allocate(8);
  memory.reset();
  a->data()[7] = std::byte{1};
  EXPECT_EQ(a->data()[7], std::byte{1});
}

TEST(DeviceMemory, RetiredMemoryCountsAsFreeAtOnce) {
  const auto memory = DeviceMemory::create({.device = 0, .limit_bytes = 10});
  const AllocationPtr a = memory->allocate(10);
  a->retire();
  EXPECT_TRUE(a->retired());
  EXPECT_EQ(memory->use().live_buffers, 0u);
  EXPECT_NO_THROW(memory->allocate(10));
}

// An allocation of each of two devices: the first holds "0123456789", the second is its copy.
struct Copies {
  std::shared_ptr<DeviceMemory> first = DeviceMemory::create({.device = 0, .share_copies = true});
  std::shared_ptr<DeviceMemory> second = DeviceMemory::create({.device = 1, .share_copies = true});
  AllocationPtr source = first->allocate(10);
  AllocationPtr copy = second->allocate(10);

  Copies() {
    source->make_own();
    std::memcpy(source->data(), "0123456789", 10);
    source->written().insert({0, 10});
    EXPECT_TRUE(copy->share(*source));
    copy->written().insert({0, 10});
  }
  static std::string text(const Allocation& of) {
    return {reinterpret_cast<const char*>(of.data()), of.bytes()};
  }
};

TEST(SharedBytes, AreNotThereBeforeTheFirstWrite) {
  const auto memory = DeviceMemory::create({.device = 0, .share_copies = true});
  const AllocationPtr a = memory->allocate(10);
  EXPECT_EQ(a->data(), nullptr);
  EXPECT_EQ(memory->use().live_bytes, 10u);
  a->make_own();
  EXPECT_NE(a->data(), nullptr);
}

TEST(SharedBytes, OutliveTheirSource) {
  Copies copies;
  copies.source.reset();
  copies.first.reset();
  EXPECT_EQ(Copies::text(*copies.copy), "0123456789");
  EXPECT_EQ(copies.second->use().live_bytes, 10u);
}

TEST(SharedBytes, AreNotTakenFromMemoryWithFixedPlaces) {
  const Copies copies;
  const auto fixed = DeviceMemory::create({.device = 2});
  const AllocationPtr other = fixed->allocate(10);
  EXPECT_FALSE(other->share(*copies.source));
  EXPECT_FALSE(copies.copy->share(*other));
  EXPECT_EQ(Copies::text(*copies.copy), "0123456789");
}

TEST(AddressMap, FindsTheAllocationOfAnyByte) {
  const auto addresses = std::make_shared<AddressMap>();
  const auto memory = DeviceMemory::create({.device = 0, .addresses = addresses});
  const AllocationPtr a = memory->allocate(100);
  const auto found = addresses->find(a->data() + 40, 20);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->allocation, a);
  EXPECT_EQ(found->range, (ByteRange{40, 60}));
  EXPECT_FALSE(addresses->find(a->data() + 100, 1).has_value());
  EXPECT_FALSE(addresses->find(nullptr, 1).has_value());
}

TEST(AddressMap, ForgetsWhatWasFreed) {
  const auto addresses = std::make_shared<AddressMap>();
  const auto memory = DeviceMemory::create({.device = 0, .addresses = addresses});
  AllocationPtr a = memory->allocate(100);
  const std::byte* const data = a->data();
  a->retire();
  EXPECT_FALSE(addresses->find(data, 1).has_value());
  a.reset();
  EXPECT_FALSE(addresses->find(data, 1).has_value());
}

}  // namespace
}  // namespace belfry::engine::device_memory_test
