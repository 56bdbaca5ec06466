// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/command_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace belfry::engine::ready_list_test {
namespace {

class ReadyListTest : public ::testing::Test {
 protected:
  ReadyListTest() {
    for (int i = 0; i < 6; ++i) queues_.push_back(std::make_unique<CommandQueue>(0, i, ""));
  }

  ReadyList list_;
  std::vector<std::unique_ptr<CommandQueue>> queues_;
};

TEST_F(ReadyListTest, TakingTheFirstKeepsTheOrderOfArrival) {
  for (int i = 0; i < 3; ++i) list_.push(*queues_[static_cast<std::size_t>(i)]);
  EXPECT_EQ(list_.take(0).number(), 0);
  list_.push(*queues_[3]);
  EXPECT_EQ(list_.take(0).number(), 1);
  EXPECT_EQ(list_.take(0).number(), 2);
  EXPECT_EQ(list_.take(0).number(), 3);
  EXPECT_TRUE(list_.empty());
}

TEST_F(ReadyListTest, TheFirstMovesIntoTheGap) {
  for (const auto& queue : queues_) list_.push(*queue);
  EXPECT_EQ(list_.take(4).number(), 4);
  EXPECT_EQ(list_.size(), 5u);
  // Left: 1 2 3 0 5.
  EXPECT_EQ(list_.take(3).number(), 0);
  // Left: 2 3 1 5.
  EXPECT_EQ(list_.take(0).number(), 2);
  EXPECT_EQ(list_.take(2).number(), 5);
}

}  // namespace
}  // namespace belfry::engine::ready_list_test
