// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/verdict_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace belfry::sim::verdict_json_test {
namespace {

using nlohmann::json;

VerdictReport refuted() {
  VerdictReport report;
  report.level = VerdictLevel::kRefuted;
  report.schedules = 3;
  report.difference = "two \"lines\"\nof text";
  report.outcomes = {{"bf1.A", "1"}, {"bf1.B", "10", {"replica 1 starts before replica 0"}, true}};
  report.races = {{.first = {"R0 of run 1", "copy in S4", false, 0, 8, "train.cpp:5"},
                   .second = {"R1 of run 1", "fill in S4", true, 4, 6, ""},
                   .subject = "buffer 1 of H0",
                   .missing = "no merge"}};
  report.conditions = {{"events have an order", true, "none"}};
  report.notes = {"a note"};
  return report;
}

TEST(VerdictJson, HasEveryMemberOfTheReportInALine) {
  const std::string line = verdict_json("train", Verdict(refuted()));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(line), json::parse(R"({
    "name": "train", "level": "REFUTED", "schedules": 3,
    "difference": "two \"lines\"\nof text", "notes": ["a note"],
    "outcomes": [
      {"outcome": "1", "token": "bf1.A", "departures": [], "threw": false},
      {"outcome": "10", "token": "bf1.B", "departures": ["replica 1 starts before replica 0"],
       "threw": true}],
    "conditions": [{"name": "events have an order", "holds": true, "evidence": "none"}],
    "races": [{
      "subject": "buffer 1 of H0", "missing": "no merge",
      "first": {"agent": "R0 of run 1", "operation": "copy in S4", "writes": false,
                "begin": 0, "end": 8, "place": "train.cpp:5"},
      "second": {"agent": "R1 of run 1", "operation": "fill in S4", "writes": true,
                 "begin": 4, "end": 6, "place": ""}}]})"));
  // The members are in the order of the documentation.
  EXPECT_THAT(line, ::testing::StartsWith(R"({"name":"train","level":"REFUTED","schedules":3,)"));
}

TEST(VerdictJson, HasEmptyListsAndReplacesBytesThatAreNoText) {
  const json line = json::parse(verdict_json("\xff", Verdict(VerdictReport{})));
  EXPECT_EQ(line.at("name"), "\xEF\xBF\xBD");
  EXPECT_EQ(line.at("level"), "NONE");
  for (const char* list : {"outcomes", "conditions", "races", "notes"}) {
    EXPECT_EQ(line.at(list), json::array()) << list;
  }
}

}  // namespace
}  // namespace belfry::sim::verdict_json_test
