// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Verdicts over random programs in watched code: of the public face with captured variables and
// shared handles, and of raw streams.
#include "testing/trials/trial.h"
#include "testing/trials/trial_counts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace belfry::sim::trials_test {
namespace {

using testing::fault_of;
using testing::Trial;
using testing::TrialCounts;
using testing::TrialPlan;
using testing::TrialSize;
using testing::try_program;

constexpr std::uint64_t kPrograms = 500;

// A quarter of the programs; the quarters are tests of their own.
class Verdicts : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Verdicts, HoldInRandomPrograms) {
  TrialCounts counts;
  std::string not_certified;
  const std::uint64_t first = GetParam() * kPrograms;
  for (std::uint64_t seed = first + 1; seed <= first + kPrograms; ++seed) {
    const Trial trial = try_program(seed, {});
    ASSERT_EQ(fault_of(trial), "") << to_string(trial);
    counts.add(trial);
    if (trial.program.is_private && !trial.has_groups() && !trial.is_certified()) {
      not_certified += to_string(trial);
    }
  }
  EXPECT_EQ(shortfall_of(counts), "") << summary_of(counts) << not_certified;
}

INSTANTIATE_TEST_SUITE_P(Quarters, Verdicts, ::testing::Range<std::uint64_t>(0, 4));

TEST(Verdicts, HoldInEveryScheduleOfTinyPrograms) {
  const TrialPlan plan{.size = TrialSize::kTiny, .in_order = 60, .random = 0, .traces = true};
  TrialCounts counts;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Trial trial = try_program(seed, plan);
    ASSERT_EQ(fault_of(trial), "") << to_string(trial);
    counts.add(trial);
  }
  // Certificates and races of programs whose schedules are all known.
  EXPECT_GE(counts.enumerated_certified, 15u) << summary_of(counts);
  EXPECT_GE(counts.enumerated - counts.enumerated_certified, 5u) << summary_of(counts);
}

// Right programs are certified for each verb, and no mistake in an exchange passes for right.
// A program with groups has no certificate.
TEST(Verdicts, CertifyExchangesThatAreRight) {
  const TrialPlan plan{.size = TrialSize::kExchanges, .in_order = 2, .random = 4, .mistakes = true};
  testing::VerbCounts counts;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Trial trial = try_program(seed, plan);
    ASSERT_EQ(fault_of(trial), "") << to_string(trial);
    add(counts, trial);
  }
  EXPECT_EQ(counts.size(), 16U) << to_string(counts);  // Eight verbs, and eight of groups.
  for (const auto& [verb, count] : counts) {
    const bool of_group = verb.ends_with("of a group");
    EXPECT_GE(count.right, of_group ? 5U : 20U) << verb;
    EXPECT_EQ(count.certified, of_group ? 0 : count.right) << verb;
    EXPECT_GE(count.wrong, of_group ? 1U : 5U) << verb;
    EXPECT_EQ(count.passed, 0U) << verb;
  }
}

// Among the seeds are programs whose replicas pause in a write to a shared handle: 113 and 199.
TEST(Verdicts, HoldWithAuditsOfTheWatch) {
  const TrialPlan plan{.in_order = 0, .random = 0, .audits = true};
  for (std::uint64_t seed = 101; seed <= 200; ++seed) {
    const Trial trial = try_program(seed, plan);
    ASSERT_EQ(fault_of(trial), "") << to_string(trial);
  }
}

// A soak goes on from its state.
TEST(TrialCounts, AreReadFromTheirText) {
  TrialCounts counts{.next_seed = 8, .programs = 7, .certified = 3, .schedules = 448};
  EXPECT_EQ(to_string(counts).substr(0, 36), "next_seed 8\nprograms 7\ncertified 3\nr");
  EXPECT_EQ(testing::counts_from(to_string(counts)), counts);
  EXPECT_THROW(testing::counts_from("next_seed 8\nprograms x\n"), std::runtime_error);
}

TEST(TrialCounts, FallShortOfTheirShares) {
  TrialCounts counts{.programs = 100,
                     .certified = 30,
                     .diverging = 10,
                     .race_free = 20,
                     .race_free_certified = 19};
  EXPECT_EQ(shortfall_of(counts), "");
  counts.certified = 29;
  EXPECT_EQ(shortfall_of(counts), "less than 30 % are CERTIFIED");
}

}  // namespace
}  // namespace belfry::sim::trials_test
