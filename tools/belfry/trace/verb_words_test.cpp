// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The words of operators and exchanges, written by hand from the lines of a trace.
#include "trace/step_words.h"
#include "trace/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace belfry::tool::verb_words_test {
namespace {

struct Told {
  std::string words;
  std::string rule;
  bool operator==(const Told&) const = default;
};
void PrintTo(const Told& told, std::ostream* out) { *out << told.words << " | " << told.rule; }

// Of the steps with these lines, numbered from 0.
std::vector<Told> told(const std::vector<std::string>& steps) {
  std::string text = begin_of_trace();
  int number = 0;
  for (const std::string& step : steps) {
    text += R"({"step":)" + std::to_string(number++) + "," + step + "}\n";
  }
  const Trace trace = trace_of(text + kEndOfTrace);
  std::vector<Told> all;
  for (const TraceStep& step : trace.steps) {
    all.push_back({step_words(trace, step), rule_of(trace, step).number});
  }
  return all;
}

std::string numbers(const std::string& leaf, int count, const std::string& first) {
  return R"({"type":"int32","shape":[)" + std::to_string(count) + R"(],"count":)" +
         std::to_string(count) + R"(,"first":[)" + first + R"(],"leaf":")" + leaf + R"("})";
}

// An arrival that brings a list of two, and asks with an operator, an axis, a root, sizes and
// pairs.
std::string arrival(const std::string& verb, const std::vector<std::string>& asked) {
  std::string text = R"("kind":"arrive","agent":"R0","run":1,"round":1,"line":"e.cpp:4","name":")" +
                     verb + R"(","brings":[)" + numbers("[0]", 2, "1,5");
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const bool is_list = i >= 3;
    const auto commas = static_cast<int>(std::count(asked[i].begin(), asked[i].end(), ','));
    const std::string leaf = "[1][" + std::to_string(i) + "]";
    const int count = asked[i].empty() ? 0 : commas + 1;
    text += ",";
    text += is_list ? numbers(leaf, count, asked[i])
                    : R"({"type":"int32","shape":[],"count":1,"first":[)" + asked[i] +
                          R"(],"leaf":")" + leaf + R"("})";
  }
  return text + "]";
}

TEST(VerbWords, TellWhatAReplicaAsksOfAnExchange) {
  EXPECT_EQ(
      told({arrival("reduce_scatter", {"2", "0", "0", "2,0", ""}),
            arrival("all_to_all", {"0", "0", "0", "", ""}),
            arrival("broadcast", {"0", "0", "1", "", ""}),
            arrival("permute", {"0", "0", "0", "", "0,1,1,0"}),
            arrival("scatter_from", {"0", "0", "1", "1,1", ""}),
            arrival("gather_to", {"0", "-1", "0", "", ""})}),
      (std::vector<Told>{
          {"replica 0 arrives at merge 1, reduce_scatter at e.cpp:4, asks for max, axis 0, sizes "
           "[2, "
           "0], and brings [1, 5]",
           "SEM-2"},
          {"replica 0 arrives at merge 1, all_to_all at e.cpp:4, and brings [1, 5]", "SEM-2"},
          {"replica 0 arrives at merge 1, broadcast at e.cpp:4, asks for root 1, and brings [1, 5]",
           "SEM-2"},
          {"replica 0 arrives at merge 1, permute at e.cpp:4, asks for 0 to 1, 1 to 0, and brings "
           "[1, 5]",
           "SEM-2"},
          {"replica 0 arrives at merge 1, scatter_from at e.cpp:4, asks for root 1, sizes [1, 1], "
           "and brings [1, 5]",
           "SEM-2"},
          {"replica 0 arrives at merge 1, gather_to at e.cpp:4, asks for axis -1, root 0, and "
           "brings "
           "[1, 5]",
           "SEM-2"}}));
}

TEST(VerbWords, NameTheRuleOfEachVerb) {
  const auto merge = [](const std::string& name) {
    return R"("kind":"merge","agent":"M0","run":1,"round":1,"line":"e.cpp:4","name":")" + name +
           '"';
  };
  const auto is_done = [](const std::string& name) {
    return "merge 1, " + name + " at e.cpp:4, is done once for all replicas";
  };
  EXPECT_EQ(
      told({merge("reduce_scatter"), merge("all_to_all"), merge("broadcast"), merge("permute"),
            merge("scatter_from"), merge("gather_to"), merge("all_gather"), merge("merge_call")}),
      (std::vector<Told>{{is_done("reduce_scatter"), "SEM-261"},
                         {is_done("all_to_all"), "SEM-262"},
                         {is_done("broadcast"), "SEM-263"},
                         {is_done("permute"), "SEM-264"},
                         {is_done("scatter_from"), "SEM-265"},
                         {is_done("gather_to"), "SEM-266"},
                         {is_done("all_gather"), "SEM-121"},
                         {is_done("merge_call"), "SEM-3"}}));
}

TEST(VerbWords, NameTheRuleOfEachOperator) {
  const auto part = [](const std::string& name, const std::string& op) {
    return R"("kind":"collective","agent":"S0","item":1,"members":2,"line":"e.cpp:4","name":")" +
           name + R"(","op":")" + op + '"';
  };
  const auto does = [](const std::string& what) {
    return "compute of replica 0 does its part of " + what + " at e.cpp:4 among 2 members";
  };
  EXPECT_EQ(told({part("all_reduce", "sum"), part("all_reduce", "mean"), part("all_reduce", "max"),
                  part("all_reduce", "min"), part("all_reduce", "prod"),
                  part("reduce_scatter", "max"), part("broadcast", ""), part("exchange", "")}),
            (std::vector<Told>{{does("all_reduce (sum)"), "SEM-32"},
                               {does("all_reduce (mean)"), "SEM-32"},
                               {does("all_reduce (max)"), "SEM-252"},
                               {does("all_reduce (min)"), "SEM-252"},
                               {does("all_reduce (prod)"), "SEM-253"},
                               {does("reduce_scatter (max)"), "SEM-261"},
                               {does("broadcast"), "SEM-263"},
                               {does("exchange"), "SEM-260"}}));
}

}  // namespace
}  // namespace belfry::tool::verb_words_test
