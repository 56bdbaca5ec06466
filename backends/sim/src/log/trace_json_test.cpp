// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/trace_json.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "testing/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::sim::trace_json_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::log_of;
using testing::of_run;
using testing::operation;
using testing::replica;
using ::testing::UnorderedElementsAreArray;

json events_of(const Log& log) { return json::parse(trace_json(log)).at("traceEvents"); }

// The events of a phase: `X` slices, `s`, `t` and `f` arrows.
std::vector<json> of_phase(const json& events, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : events) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

// The slices of a category: operations and spans.
std::vector<json> slices_of(const json& events, const std::string& category) {
  std::vector<json> found = of_phase(events, "X");
  std::erase_if(found, [&](const json& slice) { return slice.at("cat") != category; });
  return found;
}

// Tensors, a collective, a run in a merge, a variable, and an exception if `fails`.
void run_program(Backend& backend, bool fails) {
  MirroredStrategy strategy{backend};
  const auto weight = strategy.mirrored_variable(1.0, {.name = "weight"});
  try {
    strategy.run([&](ReplicaContext& replica) {
      const auto x = Tensor<float>::full(Shape{3}, 1.0F);
      replica.all_reduce(ReduceOp::kSum, x).to_host();
      replica.merge_call([&](CrossReplicaContext&) {
        strategy.run([&](ReplicaContext& inner) { inner.all_reduce(ReduceOp::kMean, 1.0); });
      });
      if (fails && replica.replica_id() == 0) throw std::runtime_error("on purpose");
      replica.all_reduce(ReduceOp::kSum, weight.on(replica));
    });
  } catch (const std::runtime_error&) {
    if (!fails) throw;
  }
}

using Row = std::pair<int, int>;
Row row_of(const json& event) { return {event.at("pid"), event.at("tid")}; }

// The begins of a row do not decrease, and of two slices one contains the other, or they are apart.
// No row has the number of its group: Perfetto would show the row as the main thread of the group.
void check_rows(const json& events) {
  std::map<Row, std::vector<std::uint64_t>> ends;
  std::map<Row, std::uint64_t> time;
  for (const json& event : events) {
    const Row row = row_of(event);
    RC_ASSERT(row.second != 0);
    RC_ASSERT(row.second != row.first);
    if (event.at("ph") == "M") continue;
    const std::uint64_t begin = event.at("ts");
    RC_ASSERT(begin >= time[row]);
    time[row] = begin;
    if (event.at("ph") != "X") continue;
    std::vector<std::uint64_t>& outer = ends[row];
    while (!outer.empty() && outer.back() <= begin) outer.pop_back();
    const std::uint64_t end = begin + event.at("dur").get<std::uint64_t>();
    const bool is_inside = outer.empty() || end <= outer.back();
    RC_ASSERT(is_inside);
    outer.push_back(end);
  }
}

void check_arrows(const json& events) {
  std::map<std::pair<std::string, std::uint64_t>, std::string> phases;
  for (const json& event : events) {
    const std::string phase = event.at("ph");
    if (phase != "s" && phase != "t" && phase != "f") continue;
    phases[{event.at("name"), event.at("id")}] += phase;
  }
  for (const auto& [arrow, path] : phases) {
    RC_ASSERT(path.size() >= 2U);
    RC_ASSERT(path == "s" + std::string(path.size() - 2, 't') + "f");
  }
}

RC_GTEST_PROP(TraceJson, HasASliceForEachOperationAndSlicesOfARowNest,
              (std::uint64_t seed, bool fails)) {
  Options options{.devices = *rc::gen::inRange(1, 5), .seed = seed};
  options.record_limit = *rc::gen::element<std::size_t>(1000, 20);
  Backend backend{options};
  run_program(backend, fails);
  const json events = events_of(backend.log());
  std::set<std::uint64_t> steps;
  for (const json& slice : slices_of(events, "operation")) {
    RC_ASSERT(slice.at("dur") == 1);
    RC_ASSERT(slice.at("ts") == slice.at("args").at("step"));
    RC_ASSERT(steps.insert(slice.at("ts").get<std::uint64_t>()).second);
  }
  RC_ASSERT(steps.size() == backend.log().records().size());
  check_rows(events);
  check_arrows(events);
}

TEST(TraceJson, LeadsFromTheEnqueueingToTheExecutionAndThroughACollective) {
  Backend backend{{.devices = 2, .schedule = Schedule::fixed()}};
  run_program(backend, false);
  const json events = events_of(backend.log());
  // Each replica enqueues a fill; the all_reduce is enqueued for each of two streams.
  std::map<std::string, int> begins;
  for (const json& arrow : of_phase(events, "s")) ++begins[arrow.at("name")];
  EXPECT_EQ(begins["enqueued"], 4);
  EXPECT_EQ(begins["members"], 1);
  // The begin of an arrow is in the row of the caller, and its end in the row of the stream.
  std::set<std::tuple<int, int, int, int>> fills;
  const std::vector<json> ends = of_phase(events, "f");
  for (const json& begin : of_phase(events, "s")) {
    for (const json& end : ends) {
      if (end.at("id") != begin.at("id") || begin.at("name") != "enqueued") continue;
      if (begin.at("tid") < 10) continue;
      fills.emplace(begin.at("pid"), begin.at("tid"), end.at("pid"), end.at("tid"));
    }
  }
  // R0 and R1 are the rows 10 and 11; the streams 0 and 16 are the rows 10 and 26.
  EXPECT_EQ(fills, (std::set<std::tuple<int, int, int, int>>{{1, 10, 2, 10}, {1, 11, 2, 26}}));
}

TEST(TraceJson, NamesRowsAndFillsInArguments) {
  Backend backend{{.devices = 2, .schedule = Schedule::fixed()}};
  run_program(backend, true);
  const std::string text = trace_json(backend.log());
  EXPECT_THAT(text, HasSubstr(R"("name":"S0 device 0 compute")"));
  EXPECT_THAT(text, HasSubstr(R"("name":"R1")"));
  EXPECT_THAT(text, HasSubstr(R"("variable":"weight")"));
  EXPECT_THAT(text, HasSubstr(R"("name":"run 1 fails: std::runtime_error \"on purpose\"")"));
  for (const json& slice : of_phase(json::parse(text).at("traceEvents"), "X")) {
    if (slice.at("name") != "fill") continue;
    EXPECT_EQ(slice.at("args").at("bytes_written"), 12);
    EXPECT_THAT(slice.at("args").at("at").get<std::string>(), HasSubstr("trace_json_test.cpp:"));
    return;
  }
  FAIL() << "no fill";
}

// The name, row, begin and length of each span.
using Spans = std::vector<std::tuple<std::string, int, std::uint64_t, std::uint64_t>>;
Spans spans_of(const Log& log) {
  Spans spans;
  for (const json& span : slices_of(events_of(log), "span")) {
    spans.emplace_back(span.at("name"), span.at("tid"), span.at("ts"), span.at("dur"));
  }
  return spans;
}

// A body lasts from the start to the end of its replica, both included. A wait lies between the
// arrival and the resumption. Times are the places in the list, without the begin and end of runs.
TEST(TraceJson, HasSpansForRunsBodiesAndWaits) {
  Operation failed_end = of_run(OperationKind::kRunEnd, 2, 9);
  failed_end.failed = true;
  failed_end.name = "BF-010 (x)";
  const Log log =
      log_of({of_run(OperationKind::kRunBegin, 1, 5), replica(0, OperationKind::kStart),  // 0
              replica(0, OperationKind::kArrive, 1),                                      // 1
              replica(1, OperationKind::kStart),                                          // 2
              replica(1, OperationKind::kArrive, 1),                                      // 3
              operation(AgentId::Kind::kMerge, 0, OperationKind::kMerge, 1),              // 4
              replica(0, OperationKind::kResume, 1),                                      // 5
              replica(0, OperationKind::kEnd),                                            // 6
              replica(1, OperationKind::kResume, 1),                                      // 7
              replica(1, OperationKind::kEnd),                                            // 8
              of_run(OperationKind::kRunEnd, 1, 5), of_run(OperationKind::kRunBegin, 2, 9),
              replica(0, OperationKind::kStart),      // 9
              replica(0, OperationKind::kArrive, 1),  // 10
              replica(0, OperationKind::kThrow),      // 11, without a wait
              failed_end});
  EXPECT_THAT(spans_of(log), UnorderedElementsAreArray(Spans{{"run 1", 2, 0, 9},
                                                             {"body", 10, 0, 7},
                                                             {"waits for merge 1", 10, 2, 3},
                                                             {"body", 11, 2, 7},
                                                             {"waits for merge 1", 11, 4, 3},
                                                             {"run 2 fails: BF-010 (x)", 2, 9, 3},
                                                             {"body", 10, 9, 3}}));
}

// Two threads with a strategy each: the run that began first also ends first. Each run has a row.
TEST(TraceJson, HasOverlappingRunsInTwoRows) {
  const Log log =
      log_of({of_run(OperationKind::kRunBegin, 1, 5), replica(0, OperationKind::kVariableRead),
              of_run(OperationKind::kRunBegin, 1, 9), replica(0, OperationKind::kVariableRead),
              of_run(OperationKind::kRunEnd, 1, 5), replica(0, OperationKind::kVariableRead)});
  EXPECT_THAT(spans_of(log),
              ElementsAre(std::tuple("run 1", 2, 0U, 2U), std::tuple("run 2", 5, 1U, 2U)));
}

TEST(TraceJson, NamesFailedWork) {
  Operation failed = operation(AgentId::Kind::kStream, 0, OperationKind::kExecute, 1);
  failed.name = "gather_rows";
  failed.failed = true;
  const std::vector<json> slices = slices_of(events_of(log_of({failed})), "operation");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0].at("name"), "FAILED gather_rows");
  EXPECT_EQ(slices[0].at("args").at("failed"), true);
}

// By the rules of JSON: a quotation mark, a backslash and control characters are escaped; the byte
// 0xFF is no UTF-8 and becomes U+FFFD.
TEST(TraceJson, EscapesNames) {
  Log log(10);
  Operation operation{.kind = OperationKind::kVariableRead};
  operation.agent.kind = AgentId::Kind::kReplica;
  operation.name = "a\"b\\c\n\x01\xFF\xC3\xA9";
  log.append(operation);
  EXPECT_THAT(trace_json(log),
              HasSubstr("\"variable\":\"a\\\"b\\\\c\\n\\u0001\xEF\xBF\xBD\xC3\xA9\""));
}

TEST(TraceJson, OfAnEmptyLogHasNoEvents) {
  EXPECT_EQ(json::parse(trace_json(Log())).at("traceEvents").size(), 0U);
}

}  // namespace
}  // namespace belfry::sim::trace_json_test
