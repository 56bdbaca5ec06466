// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/reverse_chooser.h"

#include "belfry/belfry.h"
#include "belfry/sim/attachments.h"
#include "belfry/sim/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace belfry::sim::reverse_chooser_test {
namespace {

using Kind = AgentId::Kind;
using ::testing::ElementsAre;

std::uint32_t chosen(const std::vector<AgentId>& candidates) {
  return ReverseChooser().choose_among(candidates);
}

TEST(ReverseChooser, TakesTheHighestReplicaFirst) {
  EXPECT_EQ(chosen({{Kind::kReplica, 2}, {Kind::kReplica, 0}, {Kind::kReplica, 1}}), 0U);
  EXPECT_EQ(chosen({{Kind::kReplica, 0}, {Kind::kReplica, 1}, {Kind::kReplica, 3}}), 2U);
}

TEST(ReverseChooser, TakesStreamsBeforeReplicas) {
  EXPECT_EQ(chosen({{Kind::kReplica, 5}, {Kind::kStream, 3}, {Kind::kStream, 1}}), 2U);
  EXPECT_EQ(chosen({{Kind::kHost, 0}, {Kind::kStream, 0}}), 1U);
}

TEST(ReverseChooser, ReversesTheOrderOfReplicas) {
  ReverseChooser reverse;
  Backend backend{{.devices = 4}, Attachments{.chooser = &reverse}};
  MirroredStrategy strategy{backend};
  std::vector<int> order;
  strategy.run([&](ReplicaContext& replica) { order.push_back(replica.replica_id()); });
  EXPECT_THAT(order, ElementsAre(3, 2, 1, 0));
}

}  // namespace
}  // namespace belfry::sim::reverse_chooser_test
