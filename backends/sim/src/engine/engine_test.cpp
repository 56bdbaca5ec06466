// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "engine/testing/engine_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace belfry::engine::engine_test {
namespace {

using engine::testing::EngineWorld;
using engine::testing::OperationList;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Engine, NothingRunsWhenItIsEnqueued) {
  belfry::testing::asserts("SEM-72");
  EngineWorld world;
  world.enqueue(0, "a");
  world.enqueue(1, "b");
  EXPECT_THAT(world.done, IsEmpty());
  world.engine->synchronize(world.queue(1));
  // Queue 0 became runnable first and nothing orders it after queue 1.
  EXPECT_THAT(world.done, ElementsAre("a", "b"));
}

TEST(Engine, TheChooserDecidesWhoIsNext) {
  EngineWorld world(3);
  for (int i = 0; i < 3; ++i) world.enqueue(i, std::string_view("abc").substr(i, 1));
  world.chooser.agents = {2, 1};
  world.engine->drain();
  // 2 takes c, and a moves to its place: b, a are left; 1 takes a.
  EXPECT_THAT(world.done, ElementsAre("c", "a", "b"));
}

TEST(Engine, SomeWorkMayRunWhenItIsEnqueued) {
  EngineWorld world;
  world.chooser.work = {1};
  world.enqueue(0, "a");
  EXPECT_THAT(world.done, ElementsAre("a"));
}

TEST(Engine, SomeWorkMayRunWhenACollectiveIsEnqueued) {
  EngineWorld world(3);
  world.enqueue(0, "a");
  world.enqueue(0, "b");
  world.chooser.work = {1, 1};
  CommandQueue* const queues[] = {&world.queue(1), &world.queue(2)};
  world.engine->enqueue_together(queues, world.work("together"));
  EXPECT_THAT(world.done, ElementsAre("a"));
  world.engine->join(world.queue(1), std::make_shared<Collective>(2), 0);
  EXPECT_EQ(world.done.size(), 2U);
}

TEST(Engine, AtMostThreeCommandsRunWhenOneIsEnqueued) {
  EngineWorld world(6);
  for (int i = 0; i < 5; ++i) world.enqueue(i, "a");
  world.chooser.work = {3};
  world.enqueue(5, "a");
  EXPECT_EQ(world.done.size(), 3U);
  // Four answers are possible, so that 4 is the answer 0 again.
  world.chooser.work = {4};
  world.enqueue(5, "a");
  EXPECT_EQ(world.done.size(), 3U);
}

TEST(Engine, TheHostWaitsForAnEventAndNotForMore) {
  EngineWorld world(1);
  EventPoint event;
  world.enqueue(0, "a");
  world.engine->record(world.queue(0), event);
  world.enqueue(0, "b");
  EXPECT_FALSE(event.latest->reached);
  world.engine->synchronize(event);
  EXPECT_THAT(world.done, ElementsAre("a"));
}

TEST(Engine, AskingForAnEventAgainAndAgainEnds) {
  EngineWorld world(3);
  EventPoint event;
  world.enqueue(0, "a");
  world.enqueue(1, "b");
  world.enqueue(2, "c");
  world.engine->record(world.queue(2), event);
  int asked = 1;
  while (!world.engine->query(event)) ++asked;
  EXPECT_EQ(asked, 3);
}

TEST(Engine, AskingWhatIsKnownTakesNoStep) {
  EngineWorld world(2);
  EventPoint event;
  world.engine->record(world.queue(0), event);
  world.enqueue(1, "a");
  EXPECT_TRUE(world.engine->query(event));
  EXPECT_TRUE(world.engine->query(world.queue(0)));
  EXPECT_THAT(world.done, IsEmpty());
}

TEST(Engine, AMissingMemberIsADeadlockThatNamesTheHeads) {
  belfry::testing::asserts("SEM-75");
  EngineWorld world(3);
  const auto collective = std::make_shared<Collective>(2);
  collective->command = world.work("all_reduce");
  world.engine->join(world.queue(0), collective, 0);
  world.enqueue(0, "behind");
  EventPoint event;
  world.engine->record(world.queue(0), event);
  world.engine->wait(world.queue(2), event);
  try {
    world.engine->synchronize(world.queue(2));
    FAIL() << "waited for a member that never comes";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeadlock);
    EXPECT_THAT(error.what(), HasSubstr("S0 (queue 0): all_reduce (?), where 1 of 2 members have "
                                        "arrived; 2 more behind it"));
    EXPECT_THAT(error.what(), HasSubstr("S2 (queue 2): waits for record 1 of an event"));
  }
  // Not a lasting state: the member may still come.
  world.engine->join(world.queue(1), collective, 1);
  world.engine->synchronize(world.queue(2));
  EXPECT_THAT(world.done, ElementsAre("all_reduce", "behind"));
}

// A wait lives in the frame of its call. The queue may still get on after the call has failed.
TEST(Engine, ADeadlockLeavesNoWaitBehind) {
  EngineWorld world(2);
  const auto collective = std::make_shared<Collective>(2);
  collective->command = world.work("all_reduce");
  world.engine->join(world.queue(0), collective, 0);
  EventPoint event;
  world.engine->record(world.queue(0), event);
  EXPECT_THROW(world.engine->synchronize(event), DeviceError);
  ASSERT_THAT(event.latest->waiting_hosts, IsEmpty());
  EXPECT_THROW(world.engine->synchronize(world.queue(0)), DeviceError);
  ASSERT_EQ(world.queue(0).waiting_hosts(), 0U);
  world.engine->join(world.queue(1), collective, 1);
  world.engine->synchronize(event);
  EXPECT_THAT(world.done, ElementsAre("all_reduce"));
}

TEST(Engine, QueuesAreDescribedInTheOrderOfTheirNumbers) {
  EngineWorld world(0);
  for (const int number : {3, 1, 2}) {
    world.queues.push_back(&world.engine->create_queue({.device = 0, .number = number}));
    world.enqueue(static_cast<int>(world.queues.size()) - 1, "a");
  }
  EXPECT_EQ(world.engine->describe_queues(),
            "  S1: a (?); 0 more behind it\n  S2: a (?); 0 more behind it\n"
            "  S3: a (?); 0 more behind it\n");
}

TEST(Engine, ALongQueueIsWorkedOffWhileItGrows) {
  belfry::testing::asserts("SEM-72");
  EngineWorld world(1, {.queue_limit = 4});
  for (int i = 0; i < 10; ++i) world.enqueue(0, "a");
  EXPECT_EQ(world.done.size(), 6u);
}

TEST(Engine, AQueueHolds1024Commands) {
  belfry::testing::asserts("SEM-72");
  EngineWorld world;
  for (int i = 0; i < 1024; ++i) world.enqueue(0, "a");
  EXPECT_THAT(world.done, IsEmpty());
  world.enqueue(0, "a");
  EXPECT_EQ(world.done.size(), 1u);
}

TEST(Engine, AChainOfAnyLengthComesLoose) {
  constexpr int kQueues = 50'000;
  EngineWorld world(kQueues);
  EventPoint event;
  world.enqueue(0, "a");
  for (int i = 0; i < kQueues; ++i) {
    if (i > 0) world.engine->wait(world.queue(i), event);
    world.engine->record(world.queue(i), event);
  }
  world.engine->synchronize(event);
  EXPECT_THAT(world.done, ElementsAre("a"));
}

TEST(Engine, TellsOfEveryOperation) {
  OperationList list;
  EngineWorld world(2, {.sink = &list});
  EventPoint event;
  world.enqueue(0, "a");
  world.engine->record(world.queue(0), event);
  world.engine->wait(world.queue(1), event);
  world.engine->enqueue_together(world.queues, world.work("together"));
  world.engine->synchronize(world.queue(0));
  EXPECT_THAT(list.lines, ElementsAre("H0 enqueue 1", "H0 record 1", "H0 wait 1", "H0 enqueue 3",
                                      "H0 enqueue 2", "H0 host_wait 3", "S0 execute 1",
                                      "S0 collective 3", "S1 collective 2"));
}

}  // namespace
}  // namespace belfry::engine::engine_test
