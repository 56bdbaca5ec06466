// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/step_order.h"

#include "belfry/planned_all_reduce.h"
#include "collectives/plan_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace belfry::detail::step_order_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(StepOrder, WaitsOnceForWhatWasWrittenOnce) {
  StepOrder order(2, 2);
  order.begin_step();
  order.read(0, 1, 0);
  order.read(0, 1, 1);
  EXPECT_THAT(order.end_step(), ElementsAre(Pair(0, 1)));
  order.begin_step();
  order.read(0, 1, 1);
  EXPECT_THAT(order.end_step(), IsEmpty());
  order.begin_step();
  order.write(1, 1);  // Waits for the reads of member 0.
  EXPECT_THAT(order.end_step(), ElementsAre(Pair(1, 0)));
  order.begin_step();
  order.read(0, 1, 1);
  EXPECT_THAT(order.end_step(), ElementsAre(Pair(0, 1)));
}

// 2 learns from 1 what 1 learnt from 0.
TEST(StepOrder, KnowsWhatOthersWaitedFor) {
  StepOrder order(3, 1);
  order.begin_step();
  order.read(1, 0, 0);
  EXPECT_THAT(order.end_step(), ElementsAre(Pair(1, 0)));
  order.begin_step();
  order.read(2, 1, 0);
  EXPECT_THAT(order.end_step(), ElementsAre(Pair(2, 1)));
  order.begin_step();
  order.read(2, 0, 0);
  EXPECT_THAT(order.end_step(), IsEmpty());
}

TEST(StepOrder, WaitsAtTheEndForTheLastReaders) {
  StepOrder order(3, 1);
  order.begin_step();
  order.read(1, 0, 0);
  order.read(2, 0, 0);
  EXPECT_THAT(order.end_step(), ElementsAre(Pair(1, 0), Pair(2, 0)));
  EXPECT_THAT(order.last_waits(), ElementsAre(Pair(0, 1), Pair(0, 2)));
}

// In a ring a chunk comes round again only after its reader is done: no other waits are needed.
TEST(Schedules, OfRingsWaitForLeftNeighboursAlone) {
  for (const int members : {2, 3, 4, 5, 8, 13}) {
    const PlanSchedule schedule(RingAllReduce().plan(members).value());
    std::vector<std::pair<int, int>> left;
    std::vector<std::pair<int, int>> right;
    for (int i = 0; i < members; ++i) {
      left.emplace_back(i, (i + members - 1) % members);
      right.emplace_back(i, (i + 1) % members);
    }
    for (const auto& step : schedule.sums()) EXPECT_EQ(step.waits, left) << members;
    for (const auto& step : schedule.copies()) EXPECT_EQ(step.waits, left) << members;
    EXPECT_EQ(schedule.last_waits(), right) << members;
  }
}

}  // namespace
}  // namespace belfry::detail::step_order_test
