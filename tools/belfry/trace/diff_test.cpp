// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/diff.h"

#include "trace/first_causes.h"
#include "trace/result_differences.h"
#include "trace/step_differences.h"
#include "trace/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>

#include <sstream>
#include <string>

namespace belfry::tool::diff_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Said {
  ExitCode code;
  std::string text;
};

Said said_of(const Trace& a, const Trace& b, bool json = false) {
  std::ostringstream out;
  Console console(out, out, {});
  const ExitCode code = diff_traces(a, b, json, console);
  return {code, out.str()};
}

Said diff_of(const std::string& a, const std::string& b) {
  return said_of(trace_of(begin_of_trace() + a + kEndOfTrace, "a"),
                 trace_of(begin_of_trace() + b + kEndOfTrace, "b"));
}

std::string replaced(std::string text, const std::string& old, const std::string& now) {
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at)) {
    text.replace(at, old.size(), now);
    at += now.size();
  }
  return text;
}

// Replica 1 enqueues a kernel and brings the result, which is known only after the work.
const std::string kStep =
    R"({"step":0,"kind":"enqueue","agent":"R1","name":"scale","stream":"S1","line":"t.cpp:4"}
{"step":1,"kind":"arrive","agent":"R1","run":1,"round":1,"name":"merge_call","line":"t.cpp:5",)"
    R"("brings":[{"type":"float32","shape":[2],"count":2,"first":[2,4],"buffer":9}]}
{"step":2,"kind":"arrive","agent":"R0","run":1,"round":1,"name":"merge_call","line":"t.cpp:5",)"
    R"("brings":[{"type":"float32","shape":[2],"count":2,"first":[1,2]}]}
{"step":3,"kind":"merge","agent":"M0","run":1,"round":1,"name":"merge_call","after":[1,2]}
{"step":4,"kind":"resume","agent":"R0","run":1,"round":1,"after":[3],)"
    R"("gets":[{"type":"float32","shape":[2],"count":2,"first":[3,6]}]}
{"step":5,"kind":"execute","agent":"S1","name":"scale","line":"t.cpp:4","after":[0],)"
    R"("reads":[{"type":"float32","shape":[2],"count":2,"first":[1,2],"buffer":8}],)"
    R"("writes":[{"type":"float32","shape":[2],"count":2,"first":[2,4],"buffer":9}]}
)";

TEST(Diff, FindsTheOperationBehindTheValues) {
  // The kernel of B triples: the replica brings [3, 6], and the sum is [4, 8].
  const std::string other = replaced(replaced(kStep, "[3,6]", "[4,8]"), "[2,4]", "[3,6]");
  const Said said = diff_of(kStep, other);
  EXPECT_EQ(said.code, ExitCode::kMismatch);
  EXPECT_THAT(said.text,
              HasSubstr("[WRONG] the runs part: other values at scale at t.cpp:4, replica 1\n"
                        "  A step 5: compute of replica 1 executes scale at t.cpp:4, enqueued in "
                        "step 0: reads [1, 2], writes [2, 4]\n"
                        "  B step 5: compute of replica 1 executes scale at t.cpp:4, enqueued in "
                        "step 0: reads [1, 2], writes [3, 6]\n"
                        "  both read the same, so that the operation itself differs: look at "
                        "t.cpp:4; each shown element of B is 1.5 times that of A\n"
                        "\nWhat follows\n  A step 1: "));
  EXPECT_THAT(said.text, Not(HasSubstr("do not follow")));
}

TEST(Diff, FindsAReplicaThatBringsAnotherValue) {
  const Said said = diff_of(kStep, replaced(kStep, R"("first":[1,2]}]})", R"("first":[1,7]}]})"));
  EXPECT_THAT(said.text, AllOf(HasSubstr("other values at merge_call at t.cpp:5, replica 0\n"),
                               HasSubstr("look at what the replica computes before t.cpp:5")));
}

TEST(Diff, FindsAStepThatOneRunLacks) {
  const std::string without = kStep.substr(kStep.find('\n') + 1);
  const std::string other = replaced(without, R"(,"after":[0])", "");
  EXPECT_THAT(diff_of(kStep, other).text,
              AllOf(HasSubstr("the runs part: a step of A alone: scale at t.cpp:4, replica 1\n"),
                    HasSubstr("B has no such step")));
  EXPECT_THAT(diff_of(other, kStep).text, HasSubstr("a step of B alone: scale at t.cpp:4"));
  const std::string mean = replaced(kStep, R"("name":"scale",)", R"("name":"scale","op":"mean",)");
  EXPECT_THAT(diff_of(kStep, mean).text,
              HasSubstr("the runs part: scale at t.cpp:4 in A, scale (mean) at t.cpp:4 in "
                        "B, replica 1\n"));
}

TEST(Diff, DoesNotMindTheOrderOfAgentsOrLines) {
  const Said same = diff_of(kStep, kStep);
  EXPECT_EQ(same.code, ExitCode::kGood);
  EXPECT_THAT(same.text, HasSubstr("[ok]    each agent does the same in A and B\n"));
  EXPECT_THAT(same.text, Not(HasSubstr("both runs failed")));
  const std::string failed = kStep + R"({"failure":{"code":"BF-010","text":"t"}})" + "\n";
  EXPECT_THAT(diff_of(failed, failed).text,
              HasSubstr("note: both runs failed: belfry explain a has the failure\n[ok]    "));
  EXPECT_THAT(diff_of(failed, kStep).text, Not(HasSubstr("both runs failed")));
  // Replica 0 arrives first in B.
  std::string order = replaced(kStep, R"("step":2)", R"("step":X)");
  const std::size_t begin = order.find(R"({"step":X)");
  const std::string line = order.substr(begin, order.find('\n', begin) + 1 - begin);
  order.erase(begin, line.size());
  order = replaced(line, "X", "0") +
          replaced(
              replaced(replaced(order, R"("step":1)", R"("step":2)"), R"("step":0)", R"("step":1)"),
              R"("after":[0])", R"("after":[1])");
  EXPECT_THAT(diff_of(kStep, replaced(order, R"("after":[1,2])", R"("after":[2,0])")).text,
              HasSubstr("[ok]"));
  const Said moved = diff_of(kStep, replaced(kStep, "t.cpp:5", "t.cpp:6"));
  EXPECT_EQ(moved.code, ExitCode::kGood);
  EXPECT_THAT(moved.text, HasSubstr("2 equal steps have other lines: the first is merge_call at "
                                    "t.cpp:5 in A, merge_call at t.cpp:6 in B"));
}

// Two merges of one kind: replica 1 of B comes to the second first, and both runs of the line
// differ.
TEST(Diff, FindsAReplicaAtAnotherCallOfTheSameKind) {
  const std::string good =
      R"({"step":0,"kind":"arrive","agent":"R0","round":1,"op":"sum","line":"t.cpp:5"}
{"step":1,"kind":"arrive","agent":"R1","round":1,"op":"sum","line":"t.cpp:5"}
)";
  std::string wrong = good;
  wrong.replace(wrong.rfind("t.cpp:5"), 7, "t.cpp:7");
  const std::string text = diff_of(good, wrong).text;
  EXPECT_THAT(text, HasSubstr("the runs part: merge 1 (sum) at t.cpp:5 in A, merge 1 (sum) at "
                              "t.cpp:7 in B, replica 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("replica 0")));
}

TEST(Diff, LeavesOutStreamsOfAnotherBackend) {
  const std::string begin = replaced(begin_of_trace(), "\"sim\"", "\"cuda\"");
  const std::string no_work = kStep.substr(0, kStep.find(R"({"step":5)"));
  const Said said = said_of(trace_of(begin_of_trace() + kStep + kEndOfTrace),
                            trace_of(begin + no_work + kEndOfTrace));
  EXPECT_EQ(said.code, ExitCode::kGood);
  EXPECT_THAT(said.text,
              HasSubstr("the steps of streams were not compared: A ran on sim, B on cuda"));
}

// A merge writes what replica 0 has scaled; a second replica scales, too.
Trace weight_of_scale(const std::string& of_first, const std::string& of_second) {
  const auto value = [](const std::string& number, const char* buffer) {
    return R"("writes":[{"type":"float32","shape":[],"count":1,"first":[)" + number +
           R"(],"buffer":)" + buffer + "}]}\n";
  };
  const std::string first =
      R"({"step":0,"kind":"enqueue","agent":"R0","name":"scale","stream":"S0","line":"t.cpp:4"}
{"step":1,"kind":"variable_write","agent":"M0","variable":0,"version":1,"line":"t.cpp:6",)" +
      value(of_first, "9") +
      R"({"step":2,"kind":"execute","agent":"S0","name":"scale","line":"t.cpp:4","after":[0],)" +
      value(of_first, "9");
  if (of_second.empty()) {
    return trace_of(replaced(begin_of_trace(), R"("replicas":2)", R"("replicas":1)") + first +
                    kEndOfTrace);
  }
  return trace_of(
      begin_of_trace() + first +
      R"({"step":3,"kind":"enqueue","agent":"R1","name":"scale","stream":"S1","line":"t.cpp:4"}
{"step":4,"kind":"execute","agent":"S1","name":"scale","line":"t.cpp:4","after":[3],)" +
      value(of_second, "8") + kEndOfTrace);
}

TEST(Diff, FollowsAVariableBackToTheFirstOperationOfSeveralReplicas) {
  // 4 is neither 2 nor 5, nor their sum or mean.
  const Said said = said_of(weight_of_scale("4", ""), weight_of_scale("2", "5"));
  EXPECT_THAT(said.text, HasSubstr("[WRONG] the runs part: other values at scale at t.cpp:4, "
                                   "replicas 0, 1\n"));
  EXPECT_THAT(said.text, HasSubstr("do not fit the value of the one replica"));
  // 4 is the mean of 3 and 5: the operation fits, and the write of the variable does not.
  const Said mean = said_of(weight_of_scale("4", ""), weight_of_scale("3", "5"));
  EXPECT_THAT(mean.text, HasSubstr("the runs part: other values at weight at t.cpp:6"));
}

TEST(Diff, ComparesTheResultsOfOneReplicaAndOfSeveral) {
  // On one replica the merge gives 3, or what rounding makes of it.
  const auto one = [](const std::string& result) {
    return trace_of(replaced(begin_of_trace(), R"("replicas":2)", R"("replicas":1)") +
                    R"({"step":0,"kind":"arrive","agent":"R0","run":1,"round":1,)"
                    R"("brings":[{"type":"float32","shape":[],"count":1,"first":[3]}]}
{"step":1,"kind":"resume","agent":"R0","run":1,"round":1,"name":"all_reduce","line":"t.cpp:8",)"
                    R"("gets":[{"type":"float32","shape":[],"count":1,"first":[)" +
                    result +
                    R"(]}]})"
                    "\n" +
                    kEndOfTrace);
  };
  const auto two = [](const std::string& result) {
    return trace_of(
        begin_of_trace() +
        replaced(R"({"step":0,"kind":"arrive","agent":"R0","run":1,)"
                 R"("round":1,"brings":[{"type":"float32","shape":[],"count":1,"first":[1]}]}
{"step":1,"kind":"arrive","agent":"R1","run":1,"round":1,)"
                 R"("brings":[{"type":"float32","shape":[],"count":1,"first":[2]}]}
{"step":2,"kind":"resume","agent":"R0","run":1,"round":1,"name":"all_reduce","line":"t.cpp:8",)"
                 R"("gets":[{"type":"float32","shape":[],"count":1,"first":[X]}]})",
                 "X", result) +
        "\n" + kEndOfTrace);
  };
  EXPECT_EQ(said_of(one("3"), two("3")).code, ExitCode::kGood);
  const Said rounded = said_of(one("3"), two("3.000001"));
  EXPECT_EQ(rounded.code, ExitCode::kGood);
  EXPECT_THAT(rounded.text, HasSubstr("1 results differ by at most 1 part in 100,000"));
  const Said mean = said_of(one("3"), two("1.5"));
  EXPECT_EQ(mean.code, ExitCode::kMismatch);
  EXPECT_THAT(mean.text, AllOf(HasSubstr("other values at all_reduce at t.cpp:8, replica 0"),
                               HasSubstr("the replicas brought, in A: 3; in B: 1 and 2; each shown "
                                         "element of B is 0.5 times that of A")));
}

// The second merge of replica 0 is the first of group {0, 1} in the trace of two replicas. Values
// are 3 on the one replica, and 1 and 2 in the group, which does not give their sum; the merge
// before has other values.
TEST(Diff, PairsTheMergesOfReplicaZeroWithThoseOfItsGroup) {
  const auto step = [](int number, const char* kind, const char* agent, const std::string& merge,
                       const char* list, const char* value) {
    return fmt::format(R"({{"step":{},"kind":"{}","agent":"{}","run":1,{},"name":"all_reduce",)"
                       R"("line":"t.cpp:{}","{}":[{{"type":"float32","shape":[],"count":1,)"
                       R"("first":[{}]}}]}})"
                       "\n",
                       number, kind, agent, merge, number, list, value);
  };
  const std::string first = R"("round":1)";
  const std::string second = R"("round":2)";
  const std::string in_group = R"("round":1,"group":[0,1])";
  const Trace one = trace_of(replaced(begin_of_trace(), R"("replicas":2)", R"("replicas":1)") +
                             step(0, "arrive", "R0", first, "brings", "15") +
                             step(1, "resume", "R0", first, "gets", "15") +
                             step(2, "arrive", "R0", second, "brings", "3") +
                             step(3, "resume", "R0", second, "gets", "3") + kEndOfTrace);
  const Trace two = trace_of(begin_of_trace() + step(0, "arrive", "R0", first, "brings", "7") +
                             step(1, "arrive", "R1", first, "brings", "8") +
                             step(2, "resume", "R0", first, "gets", "15") +
                             step(3, "arrive", "R0", in_group, "brings", "1") +
                             step(4, "arrive", "R1", in_group, "brings", "2") +
                             step(5, "resume", "R0", in_group, "gets", "4") + kEndOfTrace);
  EXPECT_THAT(said_of(one, two).text,
              AllOf(HasSubstr("[WRONG] the runs part: other values at all_reduce at t.cpp:3"),
                    HasSubstr("the sum of what the replicas bring is the value of the one replica"),
                    HasSubstr("the replicas brought, in A: 3; in B: 1 and 2")));
}

TEST(Diff, FindsAMergeOfAnotherGroup) {
  const std::string arrival =
      R"({"step":0,"kind":"arrive","agent":"R0","round":1,"group":[0,1],"name":"all_reduce"})"
      "\n";
  EXPECT_EQ(diff_of(arrival, arrival).code, ExitCode::kGood);
  EXPECT_THAT(diff_of(arrival, replaced(arrival, "[0,1]", "[0,2]")).text,
              HasSubstr("A step 0: replica 0 arrives at merge 1 of group {0, 1}, all_reduce\n"
                        "  B step 0: replica 0 arrives at merge 1 of group {0, 2}, all_reduce\n"));
}

TEST(Diff, WritesJson) {
  const Trace a = trace_of(begin_of_trace() + kStep + kEndOfTrace, "a");
  const Trace b = trace_of(begin_of_trace() + replaced(kStep, "[3,6]", "[3,5]") + kEndOfTrace, "b");
  const JsonValue json = detail::parse_json(said_of(a, b, true).text);
  EXPECT_EQ(json.member("same")->text, "false");
  ASSERT_EQ(json.member("causes")->parts.size(), 1u);
  const JsonValue& cause = json.member("causes")->parts[0];
  EXPECT_EQ(cause.member("replicas")->text, "replica 0");
  EXPECT_EQ(cause.member("differences")->parts[0].member("a")->member("step")->text, "4");
}

TEST(FirstCauses, FollowTheEdgesOfBothTraces) {
  // B has a kernel more; the later value of replica 1 follows from the kernel, in B alone.
  const Trace a =
      trace_of(begin_of_trace() + R"({"step":0,"kind":"arrive","agent":"R1","round":1,)"
                                  R"("brings":[{"type":"int32","shape":[],"count":1,"first":[1]}]})"
                                  "\n");
  const Trace b = trace_of(begin_of_trace() +
                           R"({"step":0,"kind":"enqueue","agent":"R1","name":"add","stream":"S1"}
{"step":1,"kind":"arrive","agent":"R1","round":1,)"
                           R"("brings":[{"type":"int32","shape":[],"count":1,"first":[2]}]})"
                           "\n");
  const StepDifferences found = compare_steps(a, b);
  ASSERT_EQ(found.all.size(), 2u);
  const std::vector<std::size_t> causes = first_causes(a, b, found.all);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(found.all[causes[0]].b->name, "add");
}

TEST(ResultDifferences, FactorsAndDistancesByHand) {
  const auto value = [](std::vector<std::string> first) {
    return TraceValue{.first = std::move(first)};
  };
  EXPECT_EQ(relative_difference(value({"4", "0"}), value({"5", "0"})), 0.2);
  EXPECT_EQ(relative_difference(value({"1"}), value({"nan"})), std::nullopt);
  EXPECT_EQ(relative_difference(value({"1"}), value({"1", "2"})), std::nullopt);
  EXPECT_EQ(factor_between(value({"1", "0", "-3"}), value({"2", "0", "-6"})),
            "each shown element of B is 2 times that of A");
  EXPECT_EQ(factor_between(value({"1", "3"}), value({"2", "5"})), "");
  EXPECT_EQ(factor_between(value({"1"}), value({"1"})), "");
}

}  // namespace
}  // namespace belfry::tool::diff_test
