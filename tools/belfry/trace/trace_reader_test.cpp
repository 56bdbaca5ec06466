// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/trace_reader.h"

#include "belfry/error.h"
#include "exit_code.h"
#include "trace/explain.h"
#include "trace/perfetto.h"
#include "trace/step_differences.h"
#include "trace/testing.h"
#include "trace/trace_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace belfry::tool::trace_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string sum_trace() {
  std::ifstream file(BELFRY_TRACES "/sum.jsonl", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string error_of(const std::string& text) {
  try {
    trace_of(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFileFormat);
    return error.report().summary;
  }
}

TEST(TraceReader, ReadsStepsAndValuesThatCameLater) {
  const Trace trace = trace_of(sum_trace());
  EXPECT_EQ(trace.backend, "sim");
  EXPECT_EQ(trace.replicas, 2);
  EXPECT_EQ(trace.total, 19);
  EXPECT_EQ(trace.token, "bf1.BgEGABXioNk");
  EXPECT_TRUE(trace.ended);
  EXPECT_THAT(trace.notes, IsEmpty());
  const TraceStep& arrival = *trace.find(6);
  EXPECT_EQ(arrival.kind, StepKind::kArrive);
  EXPECT_EQ(trace.agent_of(arrival).name, "replica 1");
  ASSERT_EQ(arrival.brings.size(), 1u);
  EXPECT_THAT(arrival.brings[0].first, ElementsAre("2", "4")) << "told after step 16";
  EXPECT_THAT(trace.find(17)->after, ElementsAre(8, 15, 16));
  EXPECT_EQ(trace.find(19), nullptr);
}

TEST(TraceReader, KeepsTheStepsThatAreAskedFor) {
  std::istringstream in(sum_trace());
  const Trace trace = parse_trace(
      in, "t", {.keep = [](const TraceStep& step) { return step.kind == StepKind::kMerge; }});
  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(trace.steps[0].step, 7);
  EXPECT_EQ(trace.total, 19);
}

TEST(TraceReader, LeavesOutATornLineAndTellsOfAMissingEnd) {
  const std::string text = begin_of_trace() + R"({"step":0,"kind":"start","agent":"R0"})"
                                              "\n";
  const Trace killed = trace_of(text + R"({"step":1,"kind":"st)");
  EXPECT_EQ(killed.total, 1);
  EXPECT_THAT(killed.notes,
              ElementsAre("line 10 is torn and was left out",
                          StartsWith("the trace has no end: the program was killed")));
  EXPECT_THAT(trace_of(text + kEndOfTrace).notes, IsEmpty());
  // A whole line is no torn line, with or without a line end.
  EXPECT_EQ(trace_of(text + R"({"step":1,"kind":"end","agent":"R0"})").total, 2);
}

TEST(TraceReader, PassesOverWhatALaterVersionMayAdd) {
  const Trace trace = trace_of(begin_of_trace(R"(,"colour":"blue")") +
                               R"({"weather":"rain"}
{"step":4,"kind":"juggle","agent":"R0","balls":[{"deep":[[1]]}],"name":"club"}
)" + kEndOfTrace);
  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(trace.steps[0].kind, StepKind::kOther);
  EXPECT_EQ(trace.steps[0].kind_name, "juggle");
}

// Columns are counted by hand, from 1.
TEST(TraceReader, NamesThePlaceOfAMistakeAndWhatWasExpected) {
  const char* const kNone = "t:1:1: expected a trace, whose first line is {\"belfry_trace\":1,...}";
  for (const char* const text : {"", "\n", "hello\n", "[1]\n", "{\"a\":1}\n",
                                 "\x7f"
                                 "ELF",
                                 "{\"bel"}) {
    EXPECT_EQ(error_of(text), kNone) << text;
  }
  EXPECT_EQ(error_of("{\"belfry_trace\":2}\n"),
            "t:1:2: expected version 1 of the format, and this is 2");
  EXPECT_THAT(error_of("{\"belfry_trace\":1}\n{\"step\":\n{}\n"),
              StartsWith("t:2:9: expected an object of JSON: syntax error"));
  const auto second = [](const std::string& line) {
    return error_of("{\"belfry_trace\":1}\n" + line + "\n");
  };
  EXPECT_EQ(second("7"), "t:2:1: expected an object of JSON");
  EXPECT_EQ(second("{\"belfry_trace\":1}"),
            "t:2:2: expected one trace; here a second trace begins");
  EXPECT_EQ(second(R"({"step":"x","kind":"start","agent":"R0"})"),
            "t:2:2: expected \"step\" with a whole number from 0 on");
  EXPECT_EQ(second(R"({"step":0,"kind":"start","agent":"R9"})"),
            "t:2:26: expected an agent that a line before tells, and \"R9\" is none");
  EXPECT_THAT(second(std::string(1000, '[') + std::string(1000, ']')),
              HasSubstr("more than 32 values inside each other"));
  const std::string step = begin_of_trace() + R"({"step":3,"kind":"start","agent":"R0"})"
                                              "\n";
  EXPECT_EQ(error_of(step + R"({"step":3,"kind":"end","agent":"R0"})"
                            "\n"),
            "t:10:2: expected a step from 4 on: numbers of steps rise");
  EXPECT_EQ(error_of(step + R"({"step":4,"kind":"end","agent":"R0","after":[4]})"
                            "\n"),
            "t:10:37: expected steps before this one");
  EXPECT_EQ(error_of(step + R"({"value_of":3,"list":"gets","index":0})"
                            "\n"),
            "t:10:29: expected an index below 0, the values of step 3");
}

// Replaces, removes or doubles bytes and lines.
std::string mutated(std::string text) {
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto length = *rc::gen::inRange<std::size_t>(0, 40);
    static const std::vector<std::string> kPieces = {"",
                                                     "{",
                                                     "}",
                                                     "[",
                                                     "\"",
                                                     ",",
                                                     ":",
                                                     "\n",
                                                     "-1",
                                                     "1e999",
                                                     "18446744073709551616",
                                                     "0",
                                                     "7",
                                                     "19",
                                                     "nan",
                                                     "R7",
                                                     "null",
                                                     "true",
                                                     "\xff",
                                                     "[[[[",
                                                     "\"after\":[0]",
                                                     "\"step\":"};
    text.replace(at, length, *rc::gen::elementOf(kPieces));
  }
  return text;
}

RC_GTEST_PROP(TraceReader, ReadsAMutatedTraceOrNamesAPlaceInIt, ()) {
  const std::string text = mutated(sum_trace());
  std::istringstream in(text);
  try {
    Trace trace = parse_trace(in, "t");
    const Trace good = trace_of(sum_trace());
    compare_steps(trace, good);
    const TraceJob job = make_job({std::move(trace)});
    std::ostringstream out;
    write_perfetto(job, out);
    Console console(out, out, {});
    explain_job(job, {}, console);
  } catch (const Error& error) {
    const std::string& summary = error.report().summary;
    RC_ASSERT(summary.starts_with("t:") && summary[2] >= '1' && summary[2] <= '9');
  }
}

TEST(TraceJob, TakesTheProcessOfALaterLine) {
  const Trace trace = trace_of(R"({"belfry_trace":1,"processes":1,"process":0}
{"agent":"R0","kind":"replica"}
{"step":0,"kind":"start","agent":"R0"}
{"process":2,"processes":3}
)" + kEndOfTrace);
  EXPECT_EQ(trace.process, 2);
  EXPECT_EQ(trace.processes, 3);
}

// The merge of all replicas is step 1 of process 0, and step 2 of process 1, which has a group.
TEST(TraceJob, LinesUpTheMergesOfAllReplicasAlone) {
  const auto process = [](int number) {
    std::string text = R"({"belfry_trace":1,"processes":2,"process":)" + std::to_string(number) +
                       R"(}
{"agent":"M0","kind":"merge","index":0,"name":"merges"}
{"step":0,"kind":"merge","agent":"M0","run":1,"round":1,"group":[2,3]}
)";
    if (number == 1)
      text += R"({"step":1,"kind":"merge","agent":"M0","run":1,"round":2,"group":[2,3]})"
              "\n";
    return trace_of(text +
                        R"({"step":2,"kind":"merge","agent":"M0","run":1,"round":1})"
                        "\n" +
                        kEndOfTrace,
                    "file " + std::to_string(number));
  };
  std::vector<std::string> order;
  const TraceJob job = make_job({process(0), process(1)});
  for (const JobStep& at : job.order) order.push_back(job.number_of(at));
  EXPECT_THAT(order, ElementsAre("0:0", "1:0", "1:1", "0:2", "1:2"));
}

TEST(TraceJob, OrdersTheProcessesByTheirMerges) {
  const auto process = [](int number) {
    const std::string id = std::to_string(number);
    return trace_of(R"({"belfry_trace":1,"processes":2,"process":)" + id + R"(}
{"agent":"R0","kind":"replica","index":)" +
                        id + R"(,"name":"replica )" + id + R"("}
{"agent":"M0","kind":"merge","index":0,"name":"merges"}
{"step":0,"kind":"arrive","agent":"R0","round":1}
{"step":1,"kind":"merge","agent":"M0","round":1,"after":[0]}
{"step":2,"kind":"resume","agent":"R0","round":1,"after":[1]}
)" + kEndOfTrace,
                    "file " + id);
  };
  const TraceJob job = make_job({process(1), process(0)});
  std::vector<std::string> order;
  for (const JobStep& at : job.order) order.push_back(job.number_of(at));
  EXPECT_THAT(order, ElementsAre("0:0", "1:0", "0:1", "1:1", "0:2", "1:2"));
  EXPECT_THROW(make_job({process(1), process(1)}), UsageError);
  EXPECT_THROW(make_job({process(0), trace_of(begin_of_trace())}), UsageError);
}

}  // namespace
}  // namespace belfry::tool::trace_reader_test
