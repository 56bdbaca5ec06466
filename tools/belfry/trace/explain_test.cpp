// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/explain.h"

#include "belfry/error.h"
#include "trace/error_page.h"
#include "trace/testing.h"
#include "trace/trace_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace belfry::tool::explain_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Said {
  ExitCode code;
  std::string text;
};

Said explained(const std::string& steps, const ExplainOptions& options = {}) {
  std::vector<Trace> traces;
  traces.push_back(trace_of(begin_of_trace() + steps + kEndOfTrace));
  const TraceJob job = make_job(std::move(traces));
  std::ostringstream out;
  Console console(out, out, {});
  const ExitCode code = explain_job(job, options, console);
  return {code, out.str()};
}

// Replica 1 leaves before the merge in which replica 0 waits.
const std::string kMismatch =
    R"({"step":0,"kind":"run_begin","agent":"H0","run":1,"replicas":2,"line":"train.cpp:3"}
{"step":1,"kind":"start","agent":"R0","run":1}
{"step":2,"kind":"arrive","agent":"R0","run":1,"round":1,"name":"all_reduce","line":"train.cpp:5"}
{"step":3,"kind":"start","agent":"R1","run":1}
{"step":4,"kind":"end","agent":"R1","run":1}
{"failure":{"code":"BF-010","text":"some replicas ended","replicas":[0,1],)"
    R"("lines":["train.cpp:5",""],"parts":["waits in all_reduce #1","returned"],"hint":"h"}}
{"step":5,"kind":"run_end","agent":"H0","run":1,"failed":{"code":"BF-010","text":"t"}}
)";

TEST(Explain, TellsTheFailureFirstAndThePlaceOfEachReplica) {
  const Said said = explained(kMismatch);
  EXPECT_EQ(said.code, ExitCode::kMismatch);
  EXPECT_THAT(said.text, HasSubstr("t: 6 steps on the simulator, 2 replicas\n"
                                   "[WRONG] BF-010 some replicas ended\n"
                                   "  replica 0  train.cpp:5  waits in all_reduce #1\n"
                                   "  replica 1  returned\n"
                                   "  hint: h\n"
                                   "  more: belfry explain-error BF-010\n"
                                   "\nWhere each replica stood\n"
                                   "  step 2: replica 0 arrives at merge 1, all_reduce at "
                                   "train.cpp:5, where it waits\n"
                                   "  step 4: replica 1 ends, and has no further step\n"
                                   "\nSteps\n     0  run 1 begins on 2 replicas at train.cpp:3\n"));
}

TEST(Explain, TellsARaceWithBothPlaces) {
  const Said said = explained(
      R"({"verdict":{"name":"p","level":"RACY","schedules":4,"difference":"","notes":[],)"
      R"("outcomes":[{"outcome":"1","token":"bf1.A","departures":["replica 1 starts first"]}],)"
      R"("races":[{"subject":"host memory","missing":"a merge between them",)"
      R"("first":{"agent":"R0 of run 1","operation":"access","writes":true,"place":"a.cpp:7"},)"
      R"("second":{"agent":"R1 of run 1","operation":"access","writes":false,"place":"a.cpp:9"}}]}}
)");
  EXPECT_EQ(said.code, ExitCode::kMismatch);
  EXPECT_THAT(said.text,
              HasSubstr("[WRONG] verdict RACY after 4 schedules: two accesses have no order\n"
                        "  race on host memory\n"
                        "    R0 of run 1: access writes at a.cpp:7\n"
                        "    R1 of run 1: access reads at a.cpp:9\n"
                        "    a merge between them\n"
                        "  outcome 1, replayed by bf1.A\n"
                        "    replica 1 starts first\n"));
  EXPECT_EQ(explained(R"({"verdict":{"level":"CERTIFIED","schedules":4}})"
                      "\n")
                .code,
            ExitCode::kGood);
}

// Both replicas write the mirrored weight twice, and replica 1 the second time another value.
const std::string kWrites =
    R"({"step":0,"kind":"variable_write","agent":"R0","variable":0,"version":1,"line":"w.cpp:2",)"
    R"("writes":[{"type":"float64","shape":[],"count":1,"first":[0.5],"buffer":4}]}
{"step":1,"kind":"variable_write","agent":"R1","variable":0,"version":1,"line":"w.cpp:2",)"
    R"("writes":[{"type":"float64","shape":[],"count":1,"first":[0.5]}]}
{"step":2,"kind":"allocate","agent":"R0","bookkeeping":true}
{"step":3,"kind":"execute","agent":"S0","name":"scale","line":"w.cpp:3",)"
    R"("writes":[{"type":"float64","shape":[],"count":1,"first":[0.25],"buffer":4}]}
{"step":4,"kind":"variable_write","agent":"R0","variable":0,"version":2,"line":"w.cpp:4",)"
    R"("writes":[{"type":"float64","shape":[],"count":1,"first":[0.25],"buffer":4}]}
{"step":5,"kind":"variable_write","agent":"R1","variable":0,"version":2,"line":"w.cpp:4",)"
    R"("writes":[{"type":"float64","shape":[],"count":1,"first":[0.75]}]}
{"step":6,"kind":"end","agent":"R1"}
)";

TEST(Explain, TellsTheOldAndTheNewValueOfAVariable) {
  const Said said = explained(kWrites);
  EXPECT_EQ(said.code, ExitCode::kGood);
  EXPECT_THAT(said.text,
              AllOf(HasSubstr("4  replica 0 writes weight at w.cpp:4: 0.5 becomes 0.25, version 2"),
                    HasSubstr("5  replica 1 writes weight at w.cpp:4: 0.5 becomes 0.75, version 2"),
                    HasSubstr("weight: DIFFERS, though it is mirrored (SEM-11)\n"
                              "  weight of replica 0: 0.25, version 2, written in step 4\n"
                              "  weight of replica 1: 0.75, version 2, written in step 5\n"),
                    Not(HasSubstr("allocate")), HasSubstr("hidden: 1 steps of bookkeeping")));
  EXPECT_THAT(explained(kWrites, {.all = true}).text, HasSubstr("2  replica 0 allocate"));
}

// The merge writes the components of both replicas; the second step of each pair is hidden.
TEST(Explain, TellsTheVariablesThatMergesWrite) {
  const std::string merge =
      R"({"step":0,"kind":"variable_made","agent":"R0","variable":0,"version":0,"replica":1,)"
      R"("line":"w.cpp:1","writes":[{"type":"float64","shape":[],"count":1,"first":[1]}]}
{"step":1,"kind":"variable_write","agent":"M0","variable":0,"version":1,"replica":0,)"
      R"("line":"w.cpp:2","writes":[{"type":"float64","shape":[],"count":1}]}
{"value_of":1,"list":"writes","index":0,"first":[0.5],"digest":"5"}
{"step":2,"kind":"variable_write","agent":"M0","variable":0,"version":1,"replica":1,)"
      R"("line":"w.cpp:2","bookkeeping":true,)"
      R"("writes":[{"type":"float64","shape":[],"count":1,"first":[0.5],"digest":"5"}]}
)";
  EXPECT_THAT(explained(merge).text,
              AllOf(HasSubstr("1  the merge writes weight of replica 0 at w.cpp:2: 0.5, version 1"),
                    HasSubstr("weight of each replica: 0.5, version 1, written in step 1\n"),
                    HasSubstr("hidden: 1 steps of bookkeeping")));
  EXPECT_THAT(explained(merge, {.replica = "1", .all = true}).text,
              AllOf(HasSubstr("2  the merge writes weight of replica 1 at w.cpp:2: 1 becomes 0.5"),
                    Not(HasSubstr(" 1  "))));
}

// All replicas see the component, which the host and the merge write.
TEST(Explain, TellsAVariableOfAllReplicasOnce) {
  const auto write = [](const std::string& step, const std::string& agent) {
    return R"({"step":)" + step + R"(,"kind":"variable_write","agent":")" + agent +
           R"(","variable":0,"version":)" + step +
           R"(,"writes":[{"type":"float64","shape":[],"count":1,"first":[)" + step + "]}]}\n";
  };
  EXPECT_THAT(explained(write("1", "H0") + write("2", "M0")).text,
              AllOf(HasSubstr("  weight of each replica: 2, version 2, written in step 2\n"),
                    Not(HasSubstr("written in step 1"))));
}

// Group {0} merges twice, group {1} once. Then all replicas merge.
const std::string kGroups =
    R"({"step":0,"kind":"arrive","agent":"R0","run":1,"round":1,"group":[0],"name":"all_reduce",)"
    R"("line":"g.cpp:4","op":"sum"}
{"step":1,"kind":"merge","agent":"M0","run":1,"round":1,"group":[0],"name":"all_reduce","after":[0]}
{"step":2,"kind":"resume","agent":"R0","run":1,"round":1,"group":[0],"name":"all_reduce"}
{"step":3,"kind":"arrive","agent":"R0","run":1,"round":2,"group":[0],"name":"merge_call"}
{"step":4,"kind":"arrive","agent":"R1","run":1,"round":1,"group":[1],"name":"merge_call"}
{"step":5,"kind":"merge","agent":"M0","run":1,"round":2,"group":[0],"name":"merge_call","after":[3]}
{"step":6,"kind":"merge","agent":"M0","run":1,"round":1,"group":[1],"name":"merge_call","after":[4]}
{"step":7,"kind":"arrive","agent":"R0","run":1,"round":1,"name":"merge_call"}
{"step":8,"kind":"arrive","agent":"R1","run":1,"round":1,"name":"merge_call"}
{"step":9,"kind":"merge","agent":"M0","run":1,"round":1,"name":"merge_call","after":[7,8]}
)";

TEST(Explain, CountsTheMergesOfEachGroup) {
  const std::string text = explained(kGroups).text;
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("0  replica 0 arrives at merge 1 of group {0}, all_reduce (sum) at g.cpp:4\n"
                      "        SEM-273: "),
            HasSubstr("1  merge 1 of group {0}, all_reduce, is done once for the members: the "
                      "replicas arrived in step 0\n        SEM-272: "),
            HasSubstr("2  replica 0 goes on after merge 1 of group {0}, all_reduce\n"),
            HasSubstr("5  merge 2 of group {0}, merge_call, is done once for the members"),
            HasSubstr("9  merge 1, merge_call, is done once for all replicas: the replicas "
                      "arrived in steps 7 and 8\n        SEM-3: ")));
  // Merges of other groups are not shown.
  EXPECT_THAT(explained(kGroups, {.replica = "1"}).text,
              AllOf(HasSubstr(" 6  "), HasSubstr(" 9  "), Not(HasSubstr("group {0}"))));
}

// Both hosts have a replica 0 with a stream 0.
TEST(Explain, ShowsTheReplicaOfOneHost) {
  std::string text = R"({"belfry_trace":1,"hosts":2})"
                     "\n";
  int step = 0;
  for (const std::string host : {"0", "1"}) {
    for (const std::string agent :
         {R"("R0","kind":"replica","index":0)", R"("S0","kind":"stream","index":0,"replica":0)",
          R"("M0","kind":"merge","index":0)"}) {
      text += R"({"agent":"H)" + host + "." + agent.substr(1) + R"(,"host":)" + host +
              R"(,"name":"x of host )" + host + "\"}\n";
      text += R"({"step":)" + std::to_string(step++) + R"(,"kind":"merge","agent":"H)" + host +
              "." + agent.substr(1, 3) + "}\n";
    }
  }
  const TraceJob job = make_job({trace_of(text + kEndOfTrace)});
  std::ostringstream out;
  Console console(out, out, {});
  explain_job(job, {.replica = "H1.R0"}, console);
  EXPECT_THAT(out.str(), AllOf(HasSubstr(" 3  "), HasSubstr(" 4  "), HasSubstr(" 5  "),
                               Not(HasSubstr(" 0  ")), Not(HasSubstr(" 2  "))));
  EXPECT_THROW(explain_job(job, {.replica = "0"}, console), UsageError) << "of which host?";
}

TEST(Explain, ShowsTheStepsThatAreAskedFor) {
  const std::string of_replica = explained(kWrites, {.replica = "1"}).text;
  EXPECT_THAT(of_replica, AllOf(HasSubstr(" 5  "), HasSubstr(" 6  "), Not(HasSubstr(" 4  ")),
                                Not(HasSubstr(" 3  ")), Not(HasSubstr("hidden"))));
  const std::string of_variable = explained(kWrites, {.variable = "weight"}).text;
  EXPECT_THAT(of_variable,
              AllOf(HasSubstr(" 3  compute of replica 0 executes scale"), HasSubstr(" 5  "),
                    Not(HasSubstr(" 6  ")), Not(HasSubstr("hidden"))))
      << "step 3 writes the memory of the component";
  std::string many;
  for (int i = 0; i < 40; ++i) {
    many += R"({"step":)" + std::to_string(i) + R"(,"kind":"start","agent":"R0"})" + "\n";
  }
  EXPECT_THAT(explained(many, {.around = "20"}).text,
              AllOf(HasSubstr(" 12  "), HasSubstr(" 28  "), Not(HasSubstr(" 11  ")),
                    Not(HasSubstr(" 29  "))));
  EXPECT_THROW(explained(kWrites, {.replica = "2"}), UsageError);
  EXPECT_THROW(explained(kWrites, {.variable = "bias"}), UsageError);
  EXPECT_THROW(explained(kWrites, {.around = "99"}), UsageError);
}

TEST(Explain, WritesJson) {
  const JsonValue json = detail::parse_json(explained(kWrites, {.json = true}).text);
  EXPECT_EQ(json.member("belfry_tool")->text, "1");
  EXPECT_EQ(json.member("failed")->text, "false");
  EXPECT_EQ(json.member("steps")->parts.size(), 6u) << "without the allocation";
  const JsonValue& last = json.member("steps")->parts[4];
  EXPECT_EQ(last.member("variable")->text, "weight");
  EXPECT_EQ(last.member("from")->text, "0.5");
  EXPECT_EQ(last.member("to")->text, "0.75");
  EXPECT_EQ(last.member("line")->text, "w.cpp:4");
}

TEST(ExplainError, ReadsATableAsAList) {
  const ErrorSection section = find_error("BF-053").value();
  EXPECT_THAT(section.meaning,
              AllOf(HasSubstr("\n- bits of tensors; found: when the variable is read, fetched or "
                              "saved; afterwards: the components stay as they are"),
                    Not(HasSubstr("|"))));
}

TEST(ExplainError, ReadsTheRulesOfTheSemantics) {
  for (const char* const rule : {"SEM-12", "sem-12"}) {
    EXPECT_THAT(find_rule(rule).value(),
                AllOf(StartsWith("SEM-12 Arguments of a merge function\n\nFor each argument of "
                                 "merge_call the merge function receives a PerReplica"),
                      Not(HasSubstr("SEM-13 "))));
  }
  for (const char* const rule : {"12", "SEM-", "sem-0", "BF-012", ""}) {
    EXPECT_FALSE(find_rule(rule).has_value()) << rule;
  }
}

TEST(ExplainError, HasASectionForEachCodeAndReadsIt) {
  for (const int code : {1, 7, 10, 17, 20, 30, 41, 50, 60, 68, 70, 72, 80, 82, 99}) {
    EXPECT_TRUE(find_error(to_string(static_cast<ErrorCode>(code))).has_value()) << code;
  }
  const ErrorSection section = find_error("BF-012").value();
  EXPECT_EQ(section.name, "kMergeKinds");
  EXPECT_EQ(section.meaning,
            "Some replicas wait in a merge_call, others in an all_reduce or an assignment.");
  EXPECT_EQ(section.cause, "The replicas took different branches, as for BF-011.");
  EXPECT_THAT(section.example, HasSubstr("BF-012 replicas wait in different kinds of merge"));
  EXPECT_EQ(section.remedy, "Merge once, after the branches.");
  for (const char* const name : {"bf-12", "12", "kMergeKinds"}) {
    EXPECT_EQ(find_error(name).value().code, "BF-012") << name;
  }
  for (const char* const name : {"", "BF-", "BF-x", "kMerge", "*"}) {
    EXPECT_FALSE(find_error(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace belfry::tool::explain_test
