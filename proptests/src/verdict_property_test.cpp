// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/verdict_property.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace belfry::testing::verdict_property_test {
namespace {

using rc::detail::FailureResult;
using rc::detail::SuccessResult;
using ::testing::HasSubstr;

sim::Verdict verdict_of(sim::VerdictLevel level) {
  sim::VerdictReport report;
  report.level = level;
  report.difference = "a difference";
  return sim::Verdict(report);
}

rc::detail::TestResult check(const auto& property, int cases) {
  rc::detail::TestParams params;
  params.maxSuccess = cases;
  return rc::detail::checkTestable(property, rc::detail::TestMetadata(), params);
}

TEST(VerdictProperty, CountsTheLevelsOfAllCases) {
  int cases = 0;
  const auto result = check(
      [&] {
        const bool racy = ++cases % 4 == 0;
        RC_ASSERT_VERDICT(
            verdict_of(racy ? sim::VerdictLevel::kRacy : sim::VerdictLevel::kCertified), kRacy);
      },
      20);
  ASSERT_TRUE(result.is<SuccessResult>());
  const rc::detail::Distribution expected{{{"CERTIFIED"}, 15}, {{"RACY"}, 5}};
  EXPECT_EQ(result.get<SuccessResult>().distribution, expected);
}

TEST(VerdictProperty, FailsBelowTheLevelWithTheExplanation) {
  const auto result =
      check([] { RC_ASSERT_VERDICT(verdict_of(sim::VerdictLevel::kSampled), kCertified); }, 20);
  ASSERT_TRUE(result.is<FailureResult>());
  EXPECT_EQ(result.get<FailureResult>().numSuccess, 0);
  EXPECT_THAT(result.get<FailureResult>().description, HasSubstr("SAMPLED(0)"));
  EXPECT_THAT(result.get<FailureResult>().description, HasSubstr("a difference"));
  EXPECT_THAT(result.get<FailureResult>().description, HasSubstr("verdict_property_test.cpp"));
}

}  // namespace
}  // namespace belfry::testing::verdict_property_test
