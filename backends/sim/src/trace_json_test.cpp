// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/trace_json.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"

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
using ::testing::HasSubstr;

json events_of(const Log& log) { return json::parse(trace_json(log)).at("traceEvents"); }

// The events of a phase: `X` slices, `B` and `E` spans, `s`, `t` and `f` arrows.
std::vector<json> of_phase(const json& events, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : events) {
    if (event.at("ph") == phase) found.push_back(event);
  }
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

void check_rows(const json& events) {
  std::map<Row, int> open;
  std::map<Row, std::uint64_t> time;
  for (const json& event : events) {
    if (event.at("ph") == "M") continue;
    const Row row = row_of(event);
    RC_ASSERT(event.at("ts").get<std::uint64_t>() >= time[row]);
    time[row] = event.at("ts");
    if (event.at("ph") == "B") ++open[row];
    if (event.at("ph") == "E") {
      RC_ASSERT(open[row] > 0);
      --open[row];
    }
  }
  for (const auto& [row, spans] : open) RC_ASSERT(spans == 0);
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

RC_GTEST_PROP(TraceJson, HasASliceForEachOperationAndEndsForAllBegins,
              (std::uint64_t seed, bool fails)) {
  Options options{.devices = *rc::gen::inRange(1, 5), .seed = seed};
  options.record_limit = *rc::gen::element<std::size_t>(1000, 20);
  Backend backend{options};
  run_program(backend, fails);
  const json events = events_of(backend.log());
  std::set<std::uint64_t> steps;
  for (const json& slice : of_phase(events, "X")) {
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
      if (end.at("id") != begin.at("id") || begin.at("tid") < 10) continue;
      fills.emplace(begin.at("pid"), begin.at("tid"), end.at("pid"), end.at("tid"));
    }
  }
  // R0 and R1 are the rows 10 and 11; the streams 0 and 16 are the rows 1 and 17.
  EXPECT_EQ(fills, (std::set<std::tuple<int, int, int, int>>{{1, 10, 2, 1}, {1, 11, 2, 17}}));
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
