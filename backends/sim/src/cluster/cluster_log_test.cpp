// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/cluster_log.h"

#include "testing/operations.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace belfry::sim::cluster_log_test {
namespace {

using testing::replica;

// Two hosts meet once; before, host 0 makes two operations, and host 1 makes a single operation.
TEST(ClusterLog, CountsTheOperationsOfTurns) {
  ClusterLog log(2, 4);
  log.append(replica(0, OperationKind::kStart), 0);
  log.append(replica(0, OperationKind::kArrive, 1), 2);
  log.append(replica(1, OperationKind::kStart), 2);
  log.append(replica(1, OperationKind::kArrive, 1), 1);
  log.append(replica(1, OperationKind::kResume, 1), 1);  // Not kept.
  Log zero = testing::log_of({replica(0, OperationKind::kStart), replica(0, OperationKind::kEnd)});
  log.add(0, zero);
  log.add(1, testing::log_of({replica(0, OperationKind::kStart)}));
  EXPECT_EQ(log.size(), 8U);
  std::string turns;
  for (const ClusterLog::Turn& turn : log.turns()) {
    turns += std::to_string(turn.host) + ":" + std::to_string(turn.operations) + " ";
  }
  EXPECT_EQ(turns, "-1:0 0:2 0:2 1:1 ");
}

TEST(ClusterLog, HashesTheOrder) {
  const Log backend = testing::log_of({replica(0, OperationKind::kStart)});
  const auto hash_of = [&](std::uint64_t before_end) {
    ClusterLog log(1, 10);
    log.append(replica(0, OperationKind::kStart), 0);
    log.append(replica(0, OperationKind::kEnd), before_end);
    log.add(0, backend);
    return log.hash();
  };
  EXPECT_EQ(hash_of(1), hash_of(1));
  EXPECT_NE(hash_of(1), hash_of(0));
  EXPECT_EQ(ClusterLog().hash(), 0U);
}

}  // namespace
}  // namespace belfry::sim::cluster_log_test
