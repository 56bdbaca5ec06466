// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "engine/engine.h"
#include "engine/testing/engine_world.h"
#include "testing/bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <stdexcept>

namespace belfry::engine::engine_failures_test {
namespace {

using engine::testing::EngineWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EngineFailureTest : public ::testing::Test {
 protected:
  // The error that `wait` throws.
  template <class Wait>
  std::string error_of(ErrorCode code, Wait wait) {
    try {
      wait();
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }

  EngineWorld world_;
  AllocationPtr memory_ = world_.memory->allocate(100);
};

TEST_F(EngineFailureTest, AReadOfBytesNobodyWroteIsReported) {
  belfry::testing::asserts("SEM-73");
  world_.enqueue(0, "fill", {}, {{memory_, {0, 40}}});
  world_.enqueue(0, "sum", {{memory_, {20, 60}}});
  const std::string text =
      error_of(ErrorCode::kUninitialised, [&] { world_.engine->synchronize(world_.queue(0)); });
  EXPECT_THAT(text, HasSubstr("sum on S0 (queue 0) reads bytes [40, 60) of buffer 0 of device 0 "
                              "(100 bytes), which nobody has written"));
  EXPECT_THAT(world_.done, ElementsAre("fill"));
}

TEST_F(EngineFailureTest, TheCheckCanBeTurnedOff) {
  EngineWorld world(1, {.check_initialised = false});
  const AllocationPtr memory = world.memory->allocate(8);
  world.enqueue(0, "sum", {{memory, {0, 8}}});
  EXPECT_NO_THROW(world.engine->synchronize(world.queue(0)));
}

TEST_F(EngineFailureTest, RangesBeyondTheAllocationAreReported) {
  world_.enqueue(0, "fill", {}, {{memory_, {90, 101}}});
  EXPECT_THAT(
      error_of(ErrorCode::kOutOfBounds, [&] { world_.engine->synchronize(world_.queue(0)); }),
      HasSubstr("fill on S0 (queue 0) touches bytes [90, 101) of buffer 0"));
  EXPECT_THAT(world_.done, IsEmpty());
}

TEST_F(EngineFailureTest, UseAfterFreeIsReported) {
  world_.enqueue(0, "fill", {}, {{memory_, {0, 8}}});
  Command free = world_.work("free");
  free.run = [memory = memory_](const Command&) { memory->retire(); };
  world_.engine->enqueue(world_.queue(0), std::move(free));
  world_.enqueue(0, "late", {{memory_, {0, 8}}});
  EXPECT_THAT(
      error_of(ErrorCode::kOutOfBounds, [&] { world_.engine->synchronize(world_.queue(0)); }),
      HasSubstr("late on S0 (queue 0) uses buffer 0 of device 0 (100 bytes) after it was "
                "freed"));
}

TEST_F(EngineFailureTest, WhatFollowsAFailureIsSkippedUntilItIsKnown) {
  belfry::testing::asserts("SEM-74");
  EventPoint event;
  world_.enqueue(0, "bad", {{memory_, {0, 1}}});
  world_.enqueue(0, "behind");
  world_.engine->record(world_.queue(0), event);
  world_.engine->wait(world_.queue(1), event);
  world_.enqueue(1, "dependent", {}, {{memory_, {0, 1}}});
  EXPECT_THROW(world_.engine->synchronize(world_.queue(1)), DeviceError);
  EXPECT_THAT(world_.done, IsEmpty());
  EXPECT_THAT(memory_->written().ranges(), IsEmpty());
  world_.enqueue(0, "later");
  world_.enqueue(1, "later");
  world_.engine->synchronize(world_.queue(0));
  world_.engine->synchronize(world_.queue(1));
  EXPECT_THAT(world_.done, ElementsAre("later", "later"));
}

TEST_F(EngineFailureTest, WhoeverReadsWhatWasNotWrittenHearsWhy) {
  belfry::testing::asserts("SEM-74");
  const AllocationPtr sum = world_.memory->allocate(8);
  Command bad = world_.work("bad", {}, {{memory_, {0, 50}}});
  bad.run = [](const Command&) { throw std::runtime_error("no such row"); };
  world_.engine->enqueue(world_.queue(0), std::move(bad));
  world_.enqueue(0, "skipped", {{memory_, {0, 50}}}, {{sum, {0, 8}}});
  EXPECT_THROW(world_.engine->synchronize(world_.queue(0)), std::runtime_error);
  char bytes[8] = {};
  // Once told, and again: what the host reads, what a kernel reads, what was only skipped.
  for (int again = 0; again < 2; ++again) {
    EXPECT_THROW(world_.engine->read(world_.queue(1), bytes, {memory_, {0, 8}}),
                 std::runtime_error);
    EXPECT_THROW(world_.engine->read(world_.queue(1), bytes, {sum, {0, 8}}), std::runtime_error);
    world_.enqueue(1, "dependent", {{sum, {0, 8}}});
    EXPECT_THROW(world_.engine->synchronize(world_.queue(1)), std::runtime_error);
  }
  world_.enqueue(1, "fill", {}, {{sum, {0, 8}}});
  EXPECT_NO_THROW(world_.engine->read(world_.queue(1), bytes, {sum, {0, 8}}));
}

TEST_F(EngineFailureTest, IndependentQueuesGoOn) {
  world_.enqueue(0, "bad", {{memory_, {0, 1}}});
  world_.enqueue(1, "fine");
  EXPECT_NO_THROW(world_.engine->synchronize(world_.queue(1)));
  EXPECT_THROW(world_.engine->synchronize(world_.queue(0)), DeviceError);
  EXPECT_THAT(world_.done, ElementsAre("fine"));
}

TEST_F(EngineFailureTest, CheckFailuresTellsOfWhatNobodyWaitedFor) {
  world_.enqueue(0, "bad", {{memory_, {0, 1}}});
  world_.engine->drain();
  EXPECT_THROW(world_.engine->check_failures(), DeviceError);
  EXPECT_NO_THROW(world_.engine->check_failures());
}

TEST_F(EngineFailureTest, TheFirstFailureOfDestroyedQueuesIsTold) {
  for (const int number : {7, 8}) {
    CommandQueue& queue = world_.engine->create_queue({.device = 0, .number = number});
    world_.engine->enqueue(queue, world_.work("bad", {{memory_, {0, 1}}}));
    world_.engine->destroy_queue(queue);
    world_.engine->drain();
  }
  EXPECT_THAT(error_of(ErrorCode::kUninitialised, [&] { world_.engine->check_failures(); }),
              HasSubstr("bad on S7"));
  EXPECT_NO_THROW(world_.engine->check_failures());
}

// Work is skipped if the host enqueued it behind a failure and before the report of the failure.
TEST_F(EngineFailureTest, WorkBehindAFailureIsSkippedAlsoAfterTheHostHasHeard) {
  EventPoint event;
  world_.enqueue(0, "bad", {{memory_, {0, 1}}});
  world_.engine->record(world_.queue(0), event);
  world_.enqueue(0, "behind");
  EXPECT_THROW(world_.engine->synchronize(event), DeviceError);
  world_.enqueue(0, "later");
  world_.engine->synchronize(world_.queue(0));
  EXPECT_THAT(world_.done, ElementsAre("later"));
}

TEST_F(EngineFailureTest, AnEventPassesOnOnlyWhatNobodyKnows) {
  EventPoint event;
  world_.enqueue(0, "bad", {{memory_, {0, 1}}});
  world_.engine->record(world_.queue(0), event);
  EXPECT_THROW(world_.engine->synchronize(world_.queue(0)), DeviceError);
  EXPECT_NO_THROW(world_.engine->synchronize(event));
  world_.engine->wait(world_.queue(1), event);
  world_.enqueue(1, "fine");
  EXPECT_NO_THROW(world_.engine->synchronize(world_.queue(1)));
  EXPECT_THAT(world_.done, ElementsAre("fine"));
}

TEST_F(EngineFailureTest, AnEventTellsItsFailureOnce) {
  EventPoint event;
  world_.enqueue(0, "bad", {{memory_, {0, 1}}});
  world_.engine->record(world_.queue(0), event);
  EXPECT_THROW(world_.engine->synchronize(event), DeviceError);
  EXPECT_NO_THROW(world_.engine->synchronize(event));
  EXPECT_NO_THROW(world_.engine->synchronize(world_.queue(0)));
}

TEST_F(EngineFailureTest, AFailedMemberFailsTheCollectiveForAll) {
  for (const int failed : {0, 1}) {
    world_.enqueue(failed, "bad", {{memory_, {0, 1}}});
    world_.engine->enqueue_together(world_.queues, world_.work("together"));
    EXPECT_THROW(world_.engine->synchronize(world_.queue(1 - failed)), DeviceError);
    EXPECT_THAT(world_.done, IsEmpty());
  }
}

TEST_F(EngineFailureTest, AReaderOfTheResultOfAFailedCollectiveHearsWhy) {
  Command bad = world_.work("together", {}, {{memory_, {0, 50}}});
  bad.run = [](const Command&) { throw std::runtime_error("no such row"); };
  world_.engine->enqueue_together(world_.queues, std::move(bad));
  EXPECT_THROW(world_.engine->synchronize(world_.queue(0)), std::runtime_error);
  char bytes[8] = {};
  EXPECT_THROW(world_.engine->read(world_.queue(1), bytes, {memory_, {0, 8}}), std::runtime_error);
}

TEST_F(EngineFailureTest, AnAbandonedCollectiveFailsPresentAndFutureMembers) {
  const auto collective = std::make_shared<Collective>(2);
  collective->command = world_.work("together");
  world_.engine->join(world_.queue(0), collective, 0);
  world_.engine->abandon(collective, std::make_exception_ptr(std::runtime_error("rank died")));
  EXPECT_THROW(world_.engine->synchronize(world_.queue(0)), std::runtime_error);
  world_.engine->join(world_.queue(1), collective, 1);
  EXPECT_THROW(world_.engine->synchronize(world_.queue(1)), std::runtime_error);
  EXPECT_THAT(world_.done, IsEmpty());
}

TEST_F(EngineFailureTest, TheFirstReasonToAbandonACollectiveStays) {
  const auto collective = std::make_shared<Collective>(2);
  collective->command = world_.work("together");
  world_.engine->abandon(collective, std::make_exception_ptr(std::runtime_error("rank died")));
  world_.engine->abandon(collective, std::make_exception_ptr(std::out_of_range("rank 7")));
  world_.engine->join(world_.queue(0), collective, 0);
  EXPECT_THROW(world_.engine->synchronize(world_.queue(0)), std::runtime_error);
}

TEST_F(EngineFailureTest, ACollectiveIsAbandonedThoughAllMembersHaveArrived) {
  const auto collective = std::make_shared<Collective>(2);
  collective->command = world_.work("together");
  for (const int i : {0, 1}) {
    world_.engine->join(world_.queue(i), collective, static_cast<std::size_t>(i));
  }
  world_.engine->abandon(collective, std::make_exception_ptr(std::runtime_error("rank died")));
  EXPECT_EQ(world_.engine->runnable(), 1U);
  EXPECT_THROW(world_.engine->synchronize(world_.queue(0)), std::runtime_error);
  for (const int i : {0, 1}) {
    world_.enqueue(i, "later");
    EXPECT_NO_THROW(world_.engine->synchronize(world_.queue(i)));
  }
  EXPECT_THAT(world_.done, ElementsAre("later", "later"));
}

TEST_F(EngineFailureTest, ADeadlockNamesTheCallThatWaits) {
  belfry::testing::asserts("SEM-75");
  const auto collective = std::make_shared<Collective>(2);
  world_.engine->join(world_.queue(1), collective, 0);
  world_.engine->join(world_.queue(0), std::make_shared<Collective>(2), 0);
  try {
    world_.engine->synchronize(world_.queue(1), {"model.cc", 9});
    FAIL() << "waited for a member that never comes";
  } catch (const DeviceError& error) {
    EXPECT_EQ(to_string(error.report().site), "model.cc:9");
  }
}

// The waits of replicas live on stacks that are gone after the run.
TEST_F(EngineFailureTest, ADeadlockOfReplicasLeavesNoWaitBehind) {
  const auto executor = make_fiber_executor({.agents = world_.engine.get()});
  world_.engine->attach(executor.get());
  EventPoint event;
  sim::testing::Bodies bodies(2, [&](int replica) {
    world_.engine->join(world_.queue(replica), std::make_shared<Collective>(2), 0);
    if (replica == 0) world_.engine->synchronize(world_.queue(0));
    world_.engine->record(world_.queue(1), event);
    world_.engine->synchronize(event);
  });
  executor->carry(2, bodies, {});
  world_.engine->attach(nullptr);
  EXPECT_TRUE(bodies.deadlocked);
  for (const std::exception_ptr& thrown : bodies.thrown) {
    error_of(ErrorCode::kDeadlock, [&] { std::rethrow_exception(thrown); });
  }
  ASSERT_EQ(world_.queue(0).waiting_hosts(), 0U);
  ASSERT_THAT(event.latest->waiting_hosts, IsEmpty());
}

}  // namespace
}  // namespace belfry::engine::engine_failures_test
