// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/timeline.h"

#include "belfry/belfry.h"
#include "belfry/replica_groups.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/cluster.h"
#include "belfry/tensor_ops.h"
#include "belfry/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace belfry::sim::timeline_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// `text` with each `@3` replaced by the place of the third line after `line`.
std::string with_lines(std::string text, int line) {
  for (int i = 9; i > 0; --i) {
    const std::string mark = "@" + std::to_string(i);
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, mark.size(), "timeline_test.cpp:" + std::to_string(line + i));
    }
  }
  return text;
}

// The table of a program on devices of the fixed schedule, which runs a replica up to its merge.
std::string table_of(int devices, const TimelineOptions& options,
                     const std::function<void(Strategy&)>& program,
                     const TraceOptions& traced = {}) {
  TraceFile trace{::testing::TempDir() + "belfry_timeline_" + std::to_string(getpid()), traced};
  Backend backend{{.devices = devices, .schedule = Schedule::fixed()},
                  Attachments{.trace = &trace}};
  MirroredStrategy strategy{backend};
  program(strategy);
  trace.close();
  return timeline(trace, options);
}

// Steps of a replica are start and end; step 0 is the begin of the run. Equal steps of replicas
// with columns share a row.
TEST(Timeline, FoldsReplicasAndRowsBeyondItsWidth) {
  const int line = __LINE__;
  const auto run = [](Strategy& strategy) { strategy.run([](ReplicaContext&) {}); };
  EXPECT_EQ(table_of(4, {.max_rows = 2, .max_replicas = 2}, run),
            with_lines("step  R0          R1          others\n"
                       "      run 1 begins on 4 replicas, @1\n"
                       "   1  start, end  start, end\n"
                       "   5                          R2 start\n"
                       "... and 3 more\n",
                       line));
}

// Six letters hold "start," and not "start, end".
TEST(Timeline, WrapsCellsBetweenWords) {
  const int line = __LINE__;
  const auto run = [](Strategy& strategy) { strategy.run([](ReplicaContext&) {}); };
  EXPECT_EQ(table_of(4, {.max_rows = 2, .max_replicas = 2, .max_width = 6}, run),
            with_lines("step  R0      R1      others\n"
                       "      run 1 begins on 4 replicas, @1\n"
                       "   1  start,  start,\n"
                       "      end     end\n"
                       "   5                  R2\n"
                       "                      start\n"
                       "... and 3 more\n",
                       line));
}

TEST(Timeline, WithBookkeepingHasARowForEachStep) {
  const int line = __LINE__;
  const auto run = [](Strategy& strategy) { strategy.run([](ReplicaContext&) {}); };
  EXPECT_EQ(table_of(2, {.max_rows = 2, .bookkeeping = true}, run),
            with_lines("step  R0\n"
                       "      run 1 begins on 2 replicas, @1\n"
                       "   1  start\n"
                       "   2  end\n"
                       "... and 2 more\n",
                       line));
  EXPECT_THAT(table_of(2, {.max_rows = 4, .bookkeeping = true}, run),
              EndsWith("end\n      run 1 ends\n"));
}

// The trace has the first three of six steps.
TEST(Timeline, CountsTheStepsThatATraceLeavesOut) {
  const int line = __LINE__;
  const auto run = [](Strategy& strategy) { strategy.run([](ReplicaContext&) {}); };
  EXPECT_EQ(table_of(2, {}, run, {.max_steps = 3}),
            with_lines("step  R0\n"
                       "      run 1 begins on 2 replicas, @1\n"
                       "   1  start, end\n"
                       "... and 3 more\n",
                       line));
}

// A round has three steps of a single replica: arrival, merge, return.
TEST(Timeline, HasRoomForStepsOfFiveDigits) {
  const auto run = [](Strategy& strategy) {
    strategy.run([](ReplicaContext& replica) {
      for (int i = 0; i < 3'400; ++i) replica.all_reduce(ReduceOp::kSum, 1);
    });
  };
  const std::string text = table_of(1, {.max_rows = 20'000, .bookkeeping = true}, run);
  EXPECT_THAT(text, HasSubstr("\n    1  start\n"));
  EXPECT_THAT(text, HasSubstr("\n10199  "));  // 3 * 3400 - 1.
}

// The merge of a run inside a merge names its depth.
TEST(Timeline, MarksRunsInRunsAndTheirFailures) {
  const int line = __LINE__;
  const auto run = [](Strategy& strategy) {
    const auto inner = [](ReplicaContext& replica) {
      replica.merge_call([](CrossReplicaContext&) { throw std::runtime_error("on purpose"); });
    };
    const auto outer = [&](ReplicaContext& replica) {
      replica.merge_call([&](CrossReplicaContext&) { strategy.run(inner); });
    };
    EXPECT_THROW(strategy.run(outer), std::runtime_error);
  };
  EXPECT_EQ(table_of(1, {}, run),
            with_lines(
                "step  R0               merge       what\n"
                "      run 1 begins on 1 replica, @8\n"
                "   1  start, arrive 1              @6\n"
                "   3                   merge 1     merge_call, @6\n"
                "      run 2 begins on 1 replica, @6\n"
                "   5  start, arrive 1              @3\n"
                "   7                   M1 merge 1  merge_call, @3\n"
                "   8  throw                        cancelled\n"
                "      run 2 fails: BF-006 merge_call #1 threw std::runtime_error \"on purpose\"\n"
                "  10  throw                        cancelled\n"
                "      run 1 fails: BF-006 merge_call #1 threw std::runtime_error \"on purpose\"\n",
                line));
}

// The fill that comes after the failed gather is skipped.
TEST(Timeline, MarksWorkThatFailedOrWasSkipped) {
  const auto run = [](Strategy& strategy) {
    EXPECT_THROW(strategy.run([](ReplicaContext&) {
      const auto table = Tensor<float>::zeros({2, 1});
      const auto row = gather_rows(table, Tensor<std::int64_t>::full({1}, 2));
      return Tensor<float>::full({1}, 1.0F).to_host()[0];
    }),
                 DeviceError);
  };
  const std::string text = table_of(1, {}, run);
  EXPECT_THAT(text, HasSubstr("gather_rows"));
  std::size_t failed = 0;
  for (std::size_t at = text.find(", FAILED\n"); at != std::string::npos;
       at = text.find(", FAILED\n", at + 1)) {
    ++failed;
  }
  EXPECT_EQ(failed, 2U) << text;
}

// Each host has a column for its replica, and names itself in shared columns.
TEST(Timeline, OfAClusterHasAColumnForEachReplicaOfEachHost) {
  TraceFile trace{::testing::TempDir() + "belfry_timeline_hosts_" + std::to_string(getpid())};
  Cluster cluster{{.hosts = 2, .schedule = Schedule::fixed()}, trace};
  cluster.run([](Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    strategy.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1); });
  });
  const std::string text = timeline(trace);
  EXPECT_THAT(text, HasSubstr("step  H0 R0 "));
  EXPECT_THAT(text, HasSubstr("  H1 R0 "));
  EXPECT_THAT(text, HasSubstr("H1 start, call 1"));
  EXPECT_THAT(text, HasSubstr("\n      H1 run 1 begins on 1 replica"));
  EXPECT_THAT(text, HasSubstr("\n      H0 run 1 ends\n"));
  EXPECT_THAT(text, HasSubstr("H0 merge 1"));
  EXPECT_THAT(text, HasSubstr("resume 1 gets 2"));
  // Each host merges once at the line.
  EXPECT_THAT(text, Not(HasSubstr("have no names")));
}

// By hand: replica r brings r + 1, and the sum is 3. The fixed schedule runs a replica up to its
// merge.
TEST(Timeline, OfATraceHasValues) {
  TraceFile trace{::testing::TempDir() + "belfry_values_" + std::to_string(getpid())};
  Backend backend{{.devices = 2, .schedule = Schedule::fixed()}, Attachments{.trace = &trace}};
  MirroredStrategy strategy{backend};
  const int line = __LINE__;
  strategy.run([](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, replica.replica_id() + 1);
  });
  EXPECT_EQ(timeline(trace),
            with_lines("step  R0                        R1                        merge    what\n"
                       "      run 1 begins on 2 replicas, @1\n"
                       "   1  start, arrive 1 brings 1  start, arrive 1 brings 2           @2\n"
                       "   5                                                      merge 1  "
                       "all_reduce, @2\n"
                       "   6  resume 1 gets 3, end      resume 1 gets 3, end               @2\n"
                       "      run 1 ends\n",
                       line));
}

// Group {0} merges once, group {1} twice, with the sum of their members alone.
TEST(Timeline, OfATraceCountsTheMergesOfEachGroup) {
  TraceFile trace{::testing::TempDir() + "belfry_groups_" + std::to_string(getpid())};
  Backend backend{{.devices = 2, .schedule = Schedule::fixed()}, Attachments{.trace = &trace}};
  MirroredStrategy strategy{backend};
  const ReplicaGroups groups = strategy.groups({{0}, {1}});
  const int line = __LINE__;
  strategy.run([&](ReplicaContext& replica) {
    for (int i = 0; i <= replica.replica_id(); ++i)
      replica.in(groups).all_reduce(ReduceOp::kSum, 7);
  });
  EXPECT_EQ(timeline(trace),
            with_lines("step  R0                               R1                   "
                       "                             merge           what\n"
                       "      run 1 begins on 2 replicas, @1\n"
                       "   1  start, arrive 1 of {0} brings 7                       "
                       "                                             @3\n"
                       "   3                                   start, arrive 1 of {1"
                       "} brings 7                                   @3\n"
                       "   5                                                        "
                       "                             merge 1 of {0}  all_reduce, @3\n"
                       "   6                                                        "
                       "                             merge 1 of {1}  all_reduce, @3\n"
                       "   7  resume 1 of {0} gets 7, end                           "
                       "                                             @3\n"
                       "   9                                   resume 1 of {1} gets "
                       "7, arrive 2 of {1} brings 7                  @3\n"
                       "  11                                                        "
                       "                             merge 2 of {1}  all_reduce, @3\n"
                       "  12                                   resume 2 of {1} gets "
                       "7, end                                       @3\n"
                       "      run 1 ends\n",
                       line));
}

// The copy of the first value to device 1 waits for the device of replica 0: such a wait is never
// hidden. Without a run nobody says which replica has device 1.
TEST(Timeline, OfATraceShowsTheWaitsBetweenDevices) {
  TraceFile trace{::testing::TempDir() + "belfry_waits_" + std::to_string(getpid())};
  Backend backend{{.devices = 2, .schedule = Schedule::fixed()}, Attachments{.trace = &trace}};
  MirroredStrategy strategy{backend};
  const auto weight = strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1.5F); });
  strategy.read(weight).to_host();
  const std::string text = timeline(trace);
  EXPECT_THAT(text, ContainsRegex("compute of device 1 waits for compute of replica 0 +"
                                  "timeline_test.cpp:[0-9]+\n"));
  EXPECT_THAT(text, HasSubstr("compute of device 1: copy = [1.5, 1.5]"));
  EXPECT_THAT(text, HasSubstr("reads [1.5, 1.5]"));
}

}  // namespace
}  // namespace belfry::sim::timeline_test
