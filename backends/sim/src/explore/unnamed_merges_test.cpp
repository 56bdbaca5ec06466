// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "log/unnamed_merges.h"

#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "belfry/sim/timeline.h"
#include "belfry/trace.h"
#include "testing/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace belfry::sim::unnamed_merges_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::HostMemory;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kUnnamed = __LINE__ + 3;
double in_a_round(ReplicaContext& replica, double value) {
  // A line without a name, and a line with a name.
  value = replica.all_reduce(ReduceOp::kMean, value);
  return replica.all_reduce(MergeTag{"loss"}, ReduceOp::kMean, value);
}

// Runs with so many rounds, and a last merge of a line that meets once in a run.
double meet(Backend& backend, const std::vector<int>& runs) {
  MirroredStrategy strategy{backend};
  double sum = 0;
  for (const int rounds : runs) {
    const auto results = strategy.run([&](ReplicaContext& replica) {
      double value = 1;
      for (int i = 0; i < rounds; ++i) value = in_a_round(replica, value);
      return replica.all_reduce(ReduceOp::kSum, value);
    });
    sum += results[0];
  }
  return sum;
}

std::string text(int count, int line) {
  return std::to_string(count) + " merges at unnamed_merges_test.cpp:" + std::to_string(line) +
         " have no names: their order is not compared";
}

std::vector<std::string> texts(const Log& log) {
  std::vector<std::string> lines;
  for (const UnnamedMerges& merges : unnamed_merges(log)) lines.push_back(to_string(merges));
  return lines;
}

std::string path_of_trace() {
  return ::testing::TempDir() + "belfry_unnamed_merges_" + std::to_string(getpid());
}

TEST(UnnamedMerges, AreCountedInTheRunWithTheMost) {
  for (const std::vector<int>& runs :
       {std::vector{3, 1, 2}, std::vector{1, 3, 2}, std::vector{2, 1, 3}}) {
    TraceFile trace(path_of_trace());
    Backend backend({.devices = 2}, Attachments{.trace = &trace});
    EXPECT_EQ(meet(backend, runs), 6);  // Of three runs, 1 + 1 each.
    EXPECT_THAT(texts(backend.log()), ElementsAre(text(3, kUnnamed)));
    EXPECT_THAT(timeline(trace), EndsWith(text(3, kUnnamed) + "\n"));
    EXPECT_THAT(timeline(trace), HasSubstr("all_reduce \"loss\""));
  }
}

TEST(UnnamedMerges, AreNoneInRunsThatMeetOnce) {
  TraceFile trace(path_of_trace());
  Backend backend({.devices = 2}, Attachments{.trace = &trace});
  // A strategy each, which numbers its runs from 1.
  EXPECT_EQ(meet(backend, {1, 1}), 4);
  EXPECT_EQ(meet(backend, {1, 1}), 4);
  EXPECT_THAT(texts(backend.log()), IsEmpty());
  EXPECT_THAT(timeline(trace), Not(HasSubstr("have no names")));
}

// Three nested runs in one run: no line meets twice in a run but the line of the merge around.
TEST(UnnamedMerges, OfNestedRunsAreCountedApart) {
  Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  const int line = __LINE__ + 3;
  strategy.run([&](ReplicaContext& replica) {
    for (int i = 0; i < 3; ++i) {
      replica.merge_call([&](CrossReplicaContext&) {
        strategy.run([](ReplicaContext& nested) { (void)nested.all_reduce(ReduceOp::kSum, 1.0); });
      });
    }
  });
  EXPECT_THAT(texts(backend.log()), ElementsAre(text(3, line)));
}

TEST(UnnamedMerges, AreToldByExplanations) {
  HostMemory::attached().reset();
  const Verdict verdict =
      explore({.devices = 2}, [](Backend& backend) { return meet(backend, {3}); });
  EXPECT_THAT(verdict.report().notes, ElementsAre(text(3, kUnnamed)));
  EXPECT_THAT(explain(verdict), HasSubstr("note: " + text(3, kUnnamed) + "\n"));
}

// Logs that differ in the last merge, far from the line, or in the work beside merges of the line.
TEST(UnnamedMerges, AreToldByComparisonsOfLogsNearTheLine) {
  const auto run = [](Backend& backend, bool more_rounds) {
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) {
      double value = 1;
      for (int i = 0; i < (more_rounds ? 3 : 2); ++i) value = in_a_round(replica, value);
    });
  };
  Backend first{{.devices = 2, .schedule = Schedule::fixed()}};
  Backend second{{.devices = 2, .schedule = Schedule::fixed()}};
  run(first, true);
  run(second, false);
  EXPECT_THAT(compare(first.log(), second.log())->text, EndsWith(text(3, kUnnamed) + "\n"));
  Backend apart{{.devices = 2, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy{apart};
  strategy.run([](ReplicaContext&) {});
  EXPECT_THAT(compare(apart.log(), second.log())->text, Not(HasSubstr("have no names")));
}

}  // namespace
}  // namespace belfry::sim::unnamed_merges_test
