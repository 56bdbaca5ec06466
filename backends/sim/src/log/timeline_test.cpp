// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/timeline.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/trace.h"
#include "testing/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::timeline_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::log_of;
using testing::operation;
using testing::replica;

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

TEST(Timeline, HasOneColumnForEachReplica) {
  const Log log = log_of({
      replica(0, OperationKind::kStart),
      replica(1, OperationKind::kStart),
      replica(1, OperationKind::kArrive, 0),
      replica(0, OperationKind::kArrive, 0),
      operation(AgentId::Kind::kMerge, 0, OperationKind::kMerge, 0),
      replica(0, OperationKind::kResume, 0),
      operation(AgentId::Kind::kStream, 16, OperationKind::kExecute, 3),
      replica(0, OperationKind::kEnd),
  });
  EXPECT_EQ(timeline(log),
            "step  R0        R1               merge    streams\n"
            "   0  start\n"
            "   1            start, arrive 0\n"
            "   3  arrive 0\n"
            "   4                             merge 0\n"
            "   5  resume 0\n"
            "   6                                      stream 16: execute 3\n"
            "   7  end\n");
}

// Equal steps of R0 and R1 share a row.
TEST(Timeline, FoldsReplicasAndRowsBeyondItsWidth) {
  std::vector<Operation> operations;
  for (int i = 0; i < 4; ++i) operations.push_back(replica(i, OperationKind::kStart));
  EXPECT_EQ(timeline(log_of(operations), {.max_rows = 2, .max_replicas = 2}),
            "step  R0     R1     others\n"
            "   0  start  start\n"
            "   2                R2 start\n"
            "... and 1 more\n");
}

TEST(Timeline, WithBookkeepingHasARowForEachStep) {
  EXPECT_EQ(timeline(log_of({replica(0, OperationKind::kStart), replica(0, OperationKind::kEnd),
                             replica(1, OperationKind::kStart)}),
                     {.bookkeeping = true}),
            "step  R0     R1\n"
            "   0  start\n"
            "   1  end\n"
            "   2         start\n");
}

TEST(Timeline, CountsTheOperationsThatAreNotKept) {
  const std::vector<Operation> operations(5, replica(0, OperationKind::kStart));
  EXPECT_EQ(timeline(log_of(operations, 2)),
            "step  R0\n"
            "   0  start, start\n"
            "... and 3 more\n");
}

// A replica that throws has no subject; a merge of a run inside a merge names its depth.
TEST(Timeline, NamesInnerMergesAndEndsWithoutASubject) {
  EXPECT_EQ(timeline(log_of({operation(AgentId::Kind::kMerge, 0, OperationKind::kMerge, 1),
                             operation(AgentId::Kind::kMerge, 1, OperationKind::kMerge, 2),
                             replica(0, OperationKind::kThrow, 3)})),
            "step  R0     merge\n"
            "   0         merge 1\n"
            "   1         M1 merge 2\n"
            "   2  throw\n");
}

TEST(Timeline, HasRoomForStepsOfFiveDigits) {
  const std::vector<Operation> operations(10'001, replica(0, OperationKind::kStart));
  const std::string text =
      timeline(log_of(operations, 20'000), {.max_rows = 20'000, .bookkeeping = true});
  EXPECT_THAT(text, HasSubstr("step   R0\n    0  start\n"));
  EXPECT_THAT(text, HasSubstr("\n 9999  start\n10000  start\n"));
}

// The numbers of the rows are by hand: the run of replica 0 in the fixed schedule is start, buffer,
// enqueueing, access to the variable, wait of the host, execution, read, end.
TEST(Timeline, OfATensorProgramHasKernelsVariablesBytesAndLines) {
  Backend backend{{.devices = 1, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy{backend};
  const auto weight = strategy.mirrored_variable(2.0, {.name = "weight"});
  const int line = __LINE__;
  strategy.run([&](ReplicaContext& replica) {
    const auto x = Tensor<float>::full(Shape{3}, 1.0F);
    const double twice = 2 * weight.on(replica);
    return twice * x.to_host()[0];
  });
  EXPECT_EQ(timeline(backend.log()),
            with_lines("step  R0                      streams                    what\n"
                       "      run 1 begins on 1 replica, @1\n"
                       "   0  start, variable_read 0                             weight, @3\n"
                       "   5                          compute of device 0: fill  writes 12 B, @2\n"
                       "   6  host_read 12, end                                  reads 12 B, @4\n"
                       "      run 1 ends\n"
                       "not shown: 3 operations of bookkeeping\n",
                       line));
  EXPECT_THAT(timeline(backend.log(), {.bookkeeping = true}),
              HasSubstr(with_lines("\n   1  allocate 0                                  12 B, @2\n"
                                   "   2  enqueue 1                                   fill, @2\n",
                                   line)));
}

TEST(Timeline, MarksRunsInRunsAndTheirFailures) {
  Backend backend{{.devices = 1, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy{backend};
  const int line = __LINE__;
  const auto inner = [](ReplicaContext&) { throw std::runtime_error("on purpose"); };
  const auto outer = [&](ReplicaContext& replica) {
    replica.merge_call([&](CrossReplicaContext&) { strategy.run(inner); });
  };
  EXPECT_THROW(strategy.run(outer), std::runtime_error);
  EXPECT_EQ(timeline(backend.log()),
            with_lines("step  R0               merge    what\n"
                       "      run 1 begins on 1 replica, @5\n"
                       "   0  start, arrive 1\n"
                       "   2                   merge 1  merge_call, @3\n"
                       "      run 2 begins on 1 replica, @3\n"
                       "   3  start, throw              std::runtime_error \"on purpose\"\n"
                       "      run 2 fails: std::runtime_error \"on purpose\"\n"
                       "   5  throw                     cancelled\n"
                       "      run 1 fails: std::runtime_error \"on purpose\"\n",
                       line));
}

// The fill that comes after the failed gather is skipped.
TEST(Timeline, MarksWorkThatFailedOrWasSkipped) {
  Backend backend{{.devices = 1, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy{backend};
  EXPECT_THROW(strategy.run([](ReplicaContext&) {
    const auto table = Tensor<float>::zeros({2, 1});
    const auto row = gather_rows(table, Tensor<std::int64_t>::full({1}, 2));
    return Tensor<float>::full({1}, 1.0F).to_host()[0];
  }),
               DeviceError);
  std::vector<bool> failed;
  for (std::uint64_t i = 0; i < backend.log().records().size(); ++i) {
    if (backend.log().records()[i].kind != OperationKind::kExecute) continue;
    failed.push_back(annotation_text(backend.log(), i).ends_with(", FAILED"));
  }
  EXPECT_EQ(failed, (std::vector<bool>{false, false, true, true}));
}

TEST(Timeline, CountsRowsOfOperationsOnly) {
  Backend backend{{.devices = 2, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy{backend};
  const int line = __LINE__;
  strategy.run([](ReplicaContext&) {});
  EXPECT_EQ(timeline(backend.log(), {.max_rows = 2, .bookkeeping = true}),
            with_lines("step  R0\n"
                       "      run 1 begins on 2 replicas, @1\n"
                       "   0  start\n"
                       "   1  end\n"
                       "... and 2 more\n",
                       line));
  EXPECT_THAT(timeline(backend.log(), {.max_rows = 4, .bookkeeping = true}),
              EndsWith("end\n      run 1 ends\n"));
}

// By hand: replica r brings r + 1, and the sum is 3. The fixed schedule runs a replica up to its
// merge.
TEST(Timeline, OfATraceHasValues) {
  TraceFile trace{::testing::TempDir() + "belfry_timeline_" + std::to_string(getpid())};
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

// The copy of the first value to device 1 waits for the device of replica 0: such a wait is never
// hidden. Without a run nobody says which replica has device 1.
TEST(Timeline, OfATraceShowsTheWaitsBetweenDevices) {
  TraceFile trace{::testing::TempDir() + "belfry_waits_" + std::to_string(getpid())};
  Backend backend{{.devices = 2, .schedule = Schedule::fixed()}, Attachments{.trace = &trace}};
  MirroredStrategy strategy{backend};
  const auto weight = strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1.5F); });
  strategy.read(weight).to_host();
  const std::string text = timeline(trace);
  EXPECT_THAT(text, HasSubstr("compute of device 1 waits for compute of replica 0\n"));
  EXPECT_THAT(text, HasSubstr("compute of device 1: copy = [1.5, 1.5]"));
  EXPECT_THAT(text, HasSubstr("reads [1.5, 1.5]"));
}

}  // namespace
}  // namespace belfry::sim::timeline_test
