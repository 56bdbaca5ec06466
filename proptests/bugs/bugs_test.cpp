// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Each class of bugs: the outcomes of mutant and twin in random schedules, and the verdicts.
#include "belfry/sim/explore.h"
#include "bug.h"
#include "marks.h"
#include "score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace belfry::bugs::bugs_test {
namespace {

using sim::Verdict;
using sim::VerdictLevel;
using ::testing::ContainerEq;
using ::testing::NanSensitiveDoubleEq;
using ::testing::Pointwise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The outcomes of the twins, by hand.
const std::map<int, Outcome>& twin_outcomes() {
  static const std::map<int, Outcome> outcomes{
      {1, {5, 5}},    {2, {4, 4}},     {3, {5, 5}},        {4, {4, 4}},        {5, {42, 42}},
      {6, {0, 1}},    {7, {5, 5}},     {8, {2, 2}},        {9, {4, 4}},        {10, {5}},
      {14, {2}},      {18, {10, 10}},  {21, {20, 20}},     {22, {2, 2}},       {23, {10, 10}},
      {24, {10, 20}}, {25, {1, 2, 3}}, {26, {1, 2, 3, 4}}, {27, {1, 1, 2, 2}}, {28, {1, 1}},
      {29, {10, 10}}, {30, {1, 1}},    {31, {5, 6, 7}},    {32, {10}},         {33, {0, 5}},
      {34, {2.5}},    {35, {3}},       {36, {40000}},      {37, {1.5e9}},      {39, {4}},
      {40, {0}},  // 1e8 + 1 is 1e8 in float.
      {41, {0}},      {42, {1}},       {43, {4, 5}},       {44, {1, 2}},       {45, {10}},
      {46, {16, 16}}, {47, {2.5}},     {48, {10}},         {49, {1}},          {50, {10, 10}},
      {51, {12, 12}}, {52, {4}},       {53, {30, 60}},     {54, {4, 4}},       {55, {3}},
      {56, {3, 7}},   {57, {15}},
  };
  return outcomes;
}

// The outcomes of the mutants with a wrong value, by hand.
const std::map<int, Outcome>& wrong_values() {
  static const std::map<int, Outcome> outcomes{
      {10, {6}},         {32, {20}},
      {34, {5}},                                // The means are 2 and 3.
      {35, {2.75}},                             // The means are 3.5 and 2.
      {36, {kInfinity}}, {37, {-647483648.0}},  // 3e9 - 2^32, divided by 2.
      {39, {3}},         {41, {1}},             // Replica 2 adds -1e8 and 1e8 first.
      {45, {8}},         {48, {20}},
      {55, {kNaN}},
  };
  return outcomes;
}

// The errors, by hand: docs/errors.md.
const std::map<int, std::string>& errors() {
  static const std::map<int, std::string> codes{
      {1, "BF-010"}, {2, "BF-010"}, {3, "BF-011"},  {4, "BF-014"},  {5, "BF-011"},  {7, "BF-012"},
      {8, "BF-020"}, {9, "BF-020"}, {26, "BF-062"}, {27, "BF-030"}, {47, "BF-036"}, {54, "BF-010"},
  };
  return codes;
}

class EachBug : public ::testing::TestWithParam<Bug> {};

TEST_P(EachBug, ShowsItsEffectInRandomSchedules) {
  const Bug& bug = GetParam();
  const std::size_t mutants = distinct_outcomes(bug.mutant(), bug.devices).back();
  if (bug.effect == Effect::kDiverges) {
    EXPECT_GE(mutants, 2u);
  } else {
    EXPECT_EQ(mutants, 1u);
  }
  EXPECT_EQ(distinct_outcomes(bug.twin(), bug.devices).back(), 1u);
}

TEST_P(EachBug, HasTheOutcomesOfHandArithmetic) {
  const Bug& bug = GetParam();
  sim::Backend backend{{.devices = bug.devices, .seed = 3}};
  EXPECT_THAT(bug.program(backend, true),
              Pointwise(NanSensitiveDoubleEq(), twin_outcomes().at(bug.number)));
  if (bug.effect == Effect::kValue) {
    EXPECT_THAT(bug.program(backend, false),
                Pointwise(NanSensitiveDoubleEq(), wrong_values().at(bug.number)));
  }
  if (bug.effect == Effect::kError) {
    EXPECT_EQ(outcome_of(bug.mutant(), bug.devices, 3).substr(0, 6), errors().at(bug.number));
  }
}

// The level of the mutant: an error and a wrong value are the same in every schedule.
bool fits(Effect effect, VerdictLevel level) {
  switch (effect) {
    case Effect::kDiverges:
      return level == VerdictLevel::kRefuted;
    case Effect::kRace:
      return level == VerdictLevel::kRacy;
    case Effect::kError:
    case Effect::kValue:
      return level == VerdictLevel::kCertified;
  }
  return false;
}

TEST_P(EachBug, HasVerdictsThatTellMutantAndTwinApart) {
  const Bug& bug = GetParam();
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const sim::Options options{.devices = bug.devices, .seed = seed};
    const Verdict mutant = sim::explore(options, bug.mutant());
    EXPECT_TRUE(fits(bug.effect, mutant.level())) << "seed " << seed << '\n' << explain(mutant);
    const Verdict twin = sim::explore(options, bug.twin());
    EXPECT_EQ(twin.level(), VerdictLevel::kCertified) << "seed " << seed << '\n' << explain(twin);
  }
}

TEST_P(EachBug, HasAReportOfItsLinesAlone) {
  const Bug& bug = GetParam();
  const Marks marks = marks_in(BELFRY_BUGS_FOLDER, bug.file)[bug.number];
  EXPECT_NE(marks[0], "");
  const Score score = score_of(bug, marks);
  EXPECT_TRUE(score.found);
  EXPECT_EQ(score.noise, 0);
  if (bug.effect == Effect::kValue) return;
  EXPECT_TRUE(score.agents);
  if (bug.effect == Effect::kError) return;
  EXPECT_EQ(score.lines, 2) << explain(score.mutant);
}

INSTANTIATE_TEST_SUITE_P(Bugs, EachBug, ::testing::ValuesIn(all_bugs()), [](const auto& info) {
  return "Class" + std::to_string(info.param.number);
});

TEST(Bugs, AreNumberedOnceAndMarked) {
  std::set<int> numbers;
  std::map<std::string, std::set<int>> by_file;
  for (const Bug& bug : all_bugs()) {
    EXPECT_TRUE(numbers.insert(bug.number).second) << bug.number;
    by_file[bug.file].insert(bug.number);
  }
  for (const ExcludedBug& bug : excluded_bugs()) {
    EXPECT_TRUE(numbers.insert(bug.number).second) << bug.number;
  }
  for (const auto& [file, expected] : by_file) {
    std::set<int> marked;
    for (const auto& [number, marks] : marks_in(BELFRY_BUGS_FOLDER, file)) marked.insert(number);
    EXPECT_THAT(marked, ContainerEq(expected)) << file;
  }
}

}  // namespace
}  // namespace belfry::bugs::bugs_test
