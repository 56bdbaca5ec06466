// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Merge functions that write to variables of the host: to variables of a single replica, or to
// shared variables.
#include "captures_support_test.h"

#include <array>
#include <stdexcept>
#include <utility>

namespace belfry::testing::captures_written_test {
namespace {

double mean_of(CrossReplicaContext& cross, const PerReplica<double>& values) {
  return cross.reduce(ReduceOp::kMean, values).value();
}

// SEM-3 allows the write, because the function of replica 0 runs. The check reports the write and
// says so.
TEST(Writes, ToALocalThatReplica0AloneReadsAreReported) {
  const auto body = [](MirroredStrategy& strategy) {
    return strategy.run([](ReplicaContext& replica) {
      double seen = 0;
      replica.merge_call([&](CrossReplicaContext& cross,
                             const PerReplica<double>& values) { seen = mean_of(cross, values); },
                         gradient_of(replica));
      return replica.replica_id() == 0 ? seen : 0.0;
    });
  };
  expect_found(body, kFirstMerge);
  const auto report = finding({.devices = 2}, body);
  EXPECT_THAT(report->hint, ::testing::HasSubstr("return results from the function"));
  EXPECT_THAT(report->hint, ::testing::HasSubstr("SEM-3"));
}

TEST(Writes, ToAVariableOutsideTheRunAreNoFinding) {
  expect_none([](MirroredStrategy& strategy) {
    double seen = 0;
    int merges = 0;
    const auto results = strategy.run([&](ReplicaContext& replica) {
      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<double>& values) {
            seen = mean_of(cross, values);
            ++merges;
          },
          gradient_of(replica));
      return seen;
    });
    return std::pair(results, merges);
  });
}

TEST(Writes, ToALocalThatNobodyReadsAreNoFinding) {
  expect_none([](MirroredStrategy& strategy) {
    strategy.run([](ReplicaContext& replica) {
      double seen = 0;
      replica.merge_call([&](CrossReplicaContext& cross,
                             const PerReplica<double>& values) { seen = mean_of(cross, values); },
                         gradient_of(replica));
    });
  });
}

// The merge writes a variable of every replica, through pointers in the arguments.
TEST(Writes, ThroughArgumentsAreNoFinding) {
  expect_none([](MirroredStrategy& strategy) {
    return strategy.run([](ReplicaContext& replica) {
      double seen = 0;
      replica.merge_call(
          [](CrossReplicaContext&, const PerReplica<double*>& all) {
            for (double* each : all) *each = 7;
          },
          &seen);
      return seen;
    });
  });
}

// No value differs before the variable is used: a later merge is named.
TEST(Writes, ThatAreUsedThreeMergesLaterAreNamedThere) {
  expect_found(
      [](MirroredStrategy& strategy) {
        return strategy.run([](ReplicaContext& replica) {
          double seen = 0;
          replica.merge_call([&](CrossReplicaContext&) { seen = 5; });
          for (int round = 0; round < 3; ++round) replica.all_reduce(ReduceOp::kSum, 1.0);
          return replica.all_reduce(ReduceOp::kSum, seen);
        });
      },
      "merge #4 of run 1");
}

TEST(Writes, ThatOnlyTheBodysResultShowsListTheMerges) {
  const auto body = [](MirroredStrategy& strategy) {
    std::array<double, 3> seen{};
    strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<std::size_t>(replica.replica_id());
      replica.merge_call([&seen, id](CrossReplicaContext&) { seen.at(id) = 7; });
      for (int round = 0; round < 2; ++round) replica.all_reduce(ReduceOp::kSum, 1);
    });
    return seen;
  };
  expect_found(body, "the body has another result");
  const auto report = finding({.devices = 3}, body);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->summary,
              ::testing::ContainsRegex("which of captures_written_test.cpp:[0-9]+, "
                                       "captures_written_test.cpp:[0-9]+ it"));
  ASSERT_EQ(report->replicas.size(), 2u);
  EXPECT_EQ(report->replicas[0].what, "with its functions the body returns {7, 0, 0}");
  EXPECT_EQ(report->replicas[1].what, "with its functions the body returns {0, 7, 0}");
}

// The list has at most eight merges and the number of the others.
TEST(Writes, ThatOnlyTheBodysResultShowsListAFewOfManyMerges) {
  const auto report = finding({.devices = 2}, [](MirroredStrategy& strategy) {
    std::array<double, 2> seen{};
    strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<std::size_t>(replica.replica_id());
      replica.merge_call([&seen, id](CrossReplicaContext&) { seen.at(id) = 7; });
      for (int line = 1; line < 10; ++line) {
        replica.all_reduce(ReduceOp::kSum, 1, CallSite{"train.cc", line});
      }
    });
    return seen;
  });
  ASSERT_TRUE(report);
  EXPECT_THAT(report->summary, ::testing::HasSubstr("train.cc:7 and 2 more it comes from"));
}

// An exception is a result, too.
TEST(Writes, ThatMakeTheBodyThrowAreFound) {
  const auto body = [](MirroredStrategy& strategy) {
    strategy.run([](ReplicaContext& replica) {
      const int own = replica.replica_id();
      replica.merge_call([own](CrossReplicaContext&) {
        if (own == 2) throw std::out_of_range("label 12");
      });
    });
  };
  expect_found(body, kFirstMerge, 2);
  EXPECT_EQ(finding({.devices = 3}, body)->replicas.back().what,
            "with its functions the body throws label 12");
}

}  // namespace
}  // namespace belfry::testing::captures_written_test
