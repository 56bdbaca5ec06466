// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Commands that find no memory (SEM-144).
#include "belfry/testing/asserts.h"
#include "engine/engine.h"
#include "engine/testing/engine_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

namespace belfry::engine::engine_memory_test {
namespace {

using engine::testing::EngineWorld;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EngineMemory : public ::testing::Test {
 protected:
  // More tries than an engine makes without a step in between.
  static constexpr int kManyTries = 100;

  // Enqueues a command in queue 0 that finds no memory `tries` times.
  void enqueue_hungry(int tries) {
    left_ = tries;
    Command command = world_.work("hungry");
    command.run = [this](const Command&) {
      if (left_-- > 0) throw std::bad_alloc();
      world_.done.emplace_back("hungry");
    };
    world_.engine->enqueue(world_.queue(0), std::move(command));
  }

  EngineWorld world_{2};
  int left_ = 0;
};

TEST_F(EngineMemory, ACommandThatFindsNoneIsTriedAgainBehindTheOtherQueues) {
  belfry::testing::asserts("SEM-144");
  enqueue_hungry(3);
  world_.enqueue(0, "behind");
  world_.enqueue(1, "other");
  world_.engine->synchronize(world_.queue(0));
  EXPECT_THAT(world_.done, ElementsAre("other", "hungry", "behind"));
}

TEST_F(EngineMemory, AnEngineThatFindsNoneAnyMoreTellsTheHost) {
  belfry::testing::asserts("SEM-144");
  enqueue_hungry(kManyTries);
  EXPECT_THROW(world_.engine->synchronize(world_.queue(0)), std::bad_alloc);
  EXPECT_THAT(world_.done, IsEmpty());
  EXPECT_EQ(world_.queue(0).waiting_hosts(), 0U);
  left_ = 0;
  world_.engine->synchronize(world_.queue(0));
  EXPECT_THAT(world_.done, ElementsAre("hungry"));
}

// Each step of another queue may have freed memory.
TEST_F(EngineMemory, TriesWithAStepInBetweenHaveNoLimit) {
  enqueue_hungry(kManyTries);
  for (int i = 0; i < kManyTries; ++i) world_.enqueue(1, "other");
  world_.engine->synchronize(world_.queue(0));
  EXPECT_EQ(world_.done.back(), "hungry");
}

}  // namespace
}  // namespace belfry::engine::engine_memory_test
