// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The simulator's log of a batch: small tensors are reduced by few commands, into few buffers.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "testing/operation_count.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace belfry::sim::batch_log_test {
namespace {

using Row = Tensor<float>;
using Rows = std::vector<Row>;

class BatchInTheLog : public ::testing::Test {
 protected:
  // `count` tensors of `length` ones on every replica.
  PerReplica<Rows> rows(int count, std::int64_t length) {
    return strategy_.run([&](ReplicaContext&) {
      Rows own;
      for (int i = 0; i < count; ++i) own.push_back(Row::full({length}, 1.0F));
      return own;
    });
  }
  // The number of operations of `kind` that the reduction of these rows adds to the log.
  std::int64_t added(OperationKind kind, int count, std::int64_t length = 3) {
    const PerReplica<Rows> own = rows(count, length);
    const auto before = operation_count(backend_, kind);
    const auto sums = strategy_.cross_replica().reduce(ReduceOp::kSum, own);
    return operation_count(backend_, kind) - before;
  }

  sim::Backend backend_{{.devices = 3}};
  MirroredStrategy strategy_{backend_};
};

// A command for each of three streams and of 64 tensors; streams wait before the first.
TEST_F(BatchInTheLog, HasACommandForManyTensors) {
  EXPECT_EQ(added(OperationKind::kEnqueue, 1), 3);
  EXPECT_EQ(added(OperationKind::kEnqueue, 64), 3);
  EXPECT_EQ(added(OperationKind::kEnqueue, 65), 6);
  EXPECT_EQ(added(OperationKind::kEnqueue, 128), 6);
  EXPECT_EQ(added(OperationKind::kWait, 1), 3);
  EXPECT_EQ(added(OperationKind::kWait, 65), 3);
}

// Each of 256 bytes of a page of 65536.
TEST_F(BatchInTheLog, HasABufferForManySmallResults) {
  EXPECT_EQ(added(OperationKind::kAllocate, 1), 3);
  EXPECT_EQ(added(OperationKind::kAllocate, 256), 3);
  EXPECT_EQ(added(OperationKind::kAllocate, 257), 6);
  EXPECT_EQ(added(OperationKind::kAllocate, 5, 1024), 3);
  EXPECT_EQ(added(OperationKind::kAllocate, 5, 1025), 15);
}

TEST_F(BatchInTheLog, GivesResultsOfOneBufferBytesOfTheirOwn) {
  const auto sums = strategy_.cross_replica().reduce(ReduceOp::kSum, rows(40, 3));
  for (int replica = 0; replica < 3; ++replica) {
    const Rows& own = sums[replica];
    std::set<std::size_t> offsets;
    for (const Row& sum : own) {
      EXPECT_EQ(sum.any().view().buffer, own[0].any().view().buffer);
      EXPECT_EQ(sum.any().view().offset % 256, 0U);
      offsets.insert(sum.any().view().offset);
    }
    EXPECT_EQ(offsets.size(), own.size());
  }
}

// The last of 66 leaves cannot be reduced.
TEST(BatchThatFails, LeavesTensorsAsTheyAre) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::Backend backend{{.devices = 2, .schedule = Schedule::random(), .seed = seed}};
    belfry::detail::StrategyReductions reductions(backend, {0, 1});
    std::vector<Rows> rows(2);
    for (int replica : {0, 1}) {
      const Placement place{&backend, replica};
      for (int i = 0; i < 65; ++i) {
        rows[replica].push_back(Row::full({3}, 1.0F + static_cast<float>(i), place));
      }
      rows[replica].emplace_back();
    }
    const std::vector<std::vector<LeafRef>> parts{leaves_of(rows[0]), leaves_of(rows[1])};
    EXPECT_THROW(
        reductions.all_reduce(ReduceOp::kSum, parts, true, belfry::detail::Participants(2)),
        InvalidArgumentError);
    for (const Rows& own : rows) {
      for (int i = 0; i < 65; ++i) {
        EXPECT_EQ(own[static_cast<std::size_t>(i)].to_host(),
                  std::vector<float>(3, 1.0F + static_cast<float>(i)));
      }
    }
  }
}

}  // namespace
}  // namespace belfry::sim::batch_log_test
