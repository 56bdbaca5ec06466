// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The operations that an engine reports: numbers, digests, sites and footprints (SEM-60).
#include "belfry/testing/asserts.h"
#include "engine/engine.h"
#include "engine/testing/engine_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace belfry::engine::engine_operations_test {
namespace {

using engine::testing::EngineWorld;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Keeps each operation and its footprints, whose memory belongs to the reporter.
class Operations final : public OperationSink {
 public:
  struct Kept {
    Operation operation;
    std::vector<std::string> footprints;
  };

  void on_operation(const Operation& operation) override {
    Kept kept{operation, {}};
    for (const Footprint& footprint : operation.footprints) {
      kept.footprints.push_back(text_of(footprint));
    }
    kept.operation.footprints = {};
    kept_.push_back(std::move(kept));
  }
  /// The operations of `kind`, in order.
  std::vector<Kept> of(OperationKind kind) const {
    std::vector<Kept> found;
    for (const Kept& kept : kept_) {
      if (kept.operation.kind == kind) found.push_back(kept);
    }
    return found;
  }
  /// `read 3: 4 to 8`, with the number of the resource.
  static std::string text_of(const Footprint& footprint) {
    const char* const mode = footprint.mode == AccessMode::kRead    ? "read "
                             : footprint.mode == AccessMode::kWrite ? "write "
                                                                    : "other ";
    return mode + std::to_string(footprint.resource) + ": " + std::to_string(footprint.begin) +
           " to " + std::to_string(footprint.end);
  }

 private:
  std::vector<Kept> kept_;
};

class EngineOperations : public ::testing::Test {
 protected:
  static constexpr CallSite kSite{"model.cc", 7};

  // A command that writes the bytes 1, 2, 3 and so on, beginning anew in each range.
  Command count(std::vector<Access> reads, std::vector<Access> writes) {
    Command command = world_.work("count", std::move(reads), std::move(writes));
    command.site = kSite;
    command.run = [](const Command& own) {
      for (const Access& write : own.writes) {
        for (std::size_t i = write.range.begin; i < write.range.end; ++i) {
          write.allocation->data()[i] = static_cast<std::byte>(i - write.range.begin + 1);
        }
      }
    };
    return command;
  }
  static std::uint64_t digest_of_count(std::uint64_t hash, std::size_t bytes) {
    std::vector<std::byte> counted;
    for (std::size_t i = 1; i <= bytes; ++i) counted.push_back(static_cast<std::byte>(i));
    return digest(hash, counted.data(), bytes, DigestExtent::kAll);
  }
  std::string touched(const char* mode, const AllocationPtr& allocation, const char* range) {
    return std::string(mode) + " " + std::to_string(allocation->resource()) + ": " + range;
  }

  Operations operations_;
  EngineWorld world_{2, {.sink = &operations_, .digest = DigestExtent::kAll}};
  AllocationPtr memory_ = world_.memory->allocate(100);
  AllocationPtr other_ = world_.memory->allocate(100);
};

TEST_F(EngineOperations, AHostReadTouchesItsBytesAsARead) {
  belfry::testing::asserts("SEM-60");
  world_.engine->enqueue(world_.queue(0), count({}, {{memory_, {0, 100}}}));
  char bytes[8] = {};
  world_.engine->read(world_.queue(0), bytes, {memory_, {0, 8}}, kSite);
  world_.engine->read(world_.queue(0), bytes, {memory_, {60, 64}}, kSite);
  const auto reads = operations_.of(OperationKind::kHostRead);
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_THAT(reads[0].footprints, ElementsAre(touched("read", memory_, "0 to 8")));
  EXPECT_THAT(reads[1].footprints, ElementsAre(touched("read", memory_, "60 to 64")));
  EXPECT_EQ(reads[0].operation.subject, 8U);
  EXPECT_EQ(reads[1].operation.subject, 4U);
  EXPECT_EQ(reads[0].operation.value, digest_of_count(0, 8));
  EXPECT_EQ(to_string(reads[0].operation.site), "model.cc:7");
}

TEST_F(EngineOperations, ACommandTouchesWhatItReadsAndWhatItWrites) {
  belfry::testing::asserts("SEM-60");
  world_.engine->enqueue(world_.queue(0), count({}, {{memory_, {0, 40}}}));
  world_.engine->enqueue(world_.queue(0),
                         count({{memory_, {8, 24}}}, {{memory_, {40, 50}}, {other_, {90, 100}}}));
  world_.engine->synchronize(world_.queue(0));
  const auto executed = operations_.of(OperationKind::kExecute);
  ASSERT_EQ(executed.size(), 2U);
  EXPECT_THAT(executed[0].footprints, ElementsAre(touched("write", memory_, "0 to 40")));
  EXPECT_THAT(executed[1].footprints, ElementsAre(touched("read", memory_, "8 to 24"),
                                                  touched("write", memory_, "40 to 50"),
                                                  touched("write", other_, "90 to 100")));
}

TEST_F(EngineOperations, TheDigestOfACommandIsThatOfAllThatItWrites) {
  world_.engine->enqueue(world_.queue(0), count({}, {{memory_, {40, 50}}, {other_, {90, 93}}}));
  world_.engine->enqueue(world_.queue(0), count({{memory_, {40, 50}}}, {}));
  world_.engine->synchronize(world_.queue(0));
  const auto executed = operations_.of(OperationKind::kExecute);
  ASSERT_EQ(executed.size(), 2U);
  EXPECT_EQ(executed[0].operation.value, digest_of_count(digest_of_count(0, 10), 3));
  EXPECT_EQ(executed[1].operation.value, 0U);
}

// The digest of a member covers the data on its own device.
TEST_F(EngineOperations, AMemberOfACollectiveTouchesAllThatTheCollectiveTouches) {
  belfry::testing::asserts("SEM-60");
  const AllocationPtr there = DeviceMemory::create({.device = 1})->allocate(100);
  world_.engine->enqueue_together(world_.queues, count({}, {{memory_, {0, 10}}, {there, {0, 7}}}));
  world_.engine->drain();
  const auto collected = operations_.of(OperationKind::kCollective);
  ASSERT_EQ(collected.size(), 2U);
  for (const auto& member : collected) {
    EXPECT_THAT(member.footprints, ElementsAre(touched("write", memory_, "0 to 10"),
                                               touched("write", there, "0 to 7")));
  }
  EXPECT_EQ(collected[0].operation.value, digest_of_count(0, 10));
  EXPECT_EQ(collected[1].operation.value, digest_of_count(0, 7));
}

// Buffers of equal number on different devices, and on the host, are different resources.
TEST_F(EngineOperations, BuffersOfDifferentDevicesAreDifferentResources) {
  std::vector<std::uint64_t> resources;
  for (const int device : {-1, 0, 1, 2}) {
    const auto memory = DeviceMemory::create({.device = device});
    for (int i = 0; i < 2; ++i) resources.push_back(memory->allocate(1)->resource());
  }
  std::ranges::sort(resources);
  EXPECT_EQ(std::ranges::adjacent_find(resources), resources.end());
}

TEST_F(EngineOperations, WorkIsReportedWithThePlaceOfItsCall) {
  world_.engine->enqueue(world_.queue(0), count({}, {}));
  world_.engine->enqueue_together(world_.queues, count({}, {}));
  world_.engine->synchronize(world_.queue(0), {"model.cc", 9});
  for (const OperationKind kind :
       {OperationKind::kEnqueue, OperationKind::kExecute, OperationKind::kCollective}) {
    const auto found = operations_.of(kind);
    EXPECT_FALSE(found.empty());
    for (const auto& each : found) EXPECT_EQ(to_string(each.operation.site), "model.cc:7");
  }
  EXPECT_EQ(to_string(operations_.of(OperationKind::kHostWait)[0].operation.site), "model.cc:9");
}

TEST_F(EngineOperations, CallsOfTheHostNameTheirQueue) {
  CommandQueue& queue = world_.engine->create_queue({.device = 1, .number = 5});
  EventPoint event;
  world_.engine->enqueue(queue, count({}, {}));
  world_.engine->record(queue, event);
  world_.engine->record(queue, event);
  world_.engine->wait(queue, event);
  world_.engine->synchronize(queue);
  world_.engine->synchronize(event);
  for (const OperationKind kind :
       {OperationKind::kEnqueue, OperationKind::kRecord, OperationKind::kWait}) {
    for (const auto& each : operations_.of(kind)) EXPECT_EQ(each.operation.value, 5U);
  }
  // The records of an event are numbered from 1, and a wait is for the latest.
  const auto records = operations_.of(OperationKind::kRecord);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].operation.subject, 1U);
  EXPECT_EQ(records[1].operation.subject, 2U);
  EXPECT_EQ(operations_.of(OperationKind::kWait)[0].operation.subject, 2U);
  const auto waits = operations_.of(OperationKind::kHostWait);
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0].operation.subject, 4U);  // Four items are enqueued in queue 5.
  EXPECT_EQ(waits[0].operation.value, 5U);
  EXPECT_EQ(waits[1].operation.subject, 2U);
  EXPECT_EQ(waits[1].operation.value, ~std::uint64_t{0});  // An event has no queue.
}

TEST_F(EngineOperations, ACommandThatFailsHasNoDigest) {
  world_.engine->enqueue(world_.queue(0), count({{memory_, {0, 1}}}, {{other_, {0, 10}}}));
  EXPECT_ANY_THROW(world_.engine->synchronize(world_.queue(0)));
  const auto executed = operations_.of(OperationKind::kExecute);
  ASSERT_EQ(executed.size(), 1U);
  EXPECT_EQ(executed[0].operation.value, 0U);
  EXPECT_THAT(other_->written().ranges(), IsEmpty());
}

}  // namespace
}  // namespace belfry::engine::engine_operations_test
