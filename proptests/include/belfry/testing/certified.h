// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/verdict.h"

#include <gtest/gtest.h>

namespace belfry::testing {

/// Whether `verdict` has at least `level`: levels are in the order of VerdictLevel, except that
/// kRefuted is met by kRefuted alone. A failure has the text of `explain`.
inline ::testing::AssertionResult has_level(const sim::Verdict& verdict, sim::VerdictLevel level) {
  using sim::VerdictLevel;
  const bool is_refuted = verdict.level() == VerdictLevel::kRefuted;
  const bool met = is_refuted || level == VerdictLevel::kRefuted ? verdict.level() == level
                                                                 : verdict.level() >= level;
  if (met) return ::testing::AssertionSuccess() << to_string(verdict);
  return ::testing::AssertionFailure() << explain(verdict);
}

/// Whether `verdict` is CERTIFIED, and the body returns: a mistake of the body must not look like a
/// success. A test of an exception asks for the level.
inline ::testing::AssertionResult is_certified(const sim::Verdict& verdict) {
  const ::testing::AssertionResult result = has_level(verdict, sim::VerdictLevel::kCertified);
  const auto& outcomes = verdict.report().outcomes;
  if (!result || outcomes.empty() || !outcomes.front().threw) return result;
  return ::testing::AssertionFailure()
         << "the body throws in every schedule; if the exception is wanted, write "
            "EXPECT_VERDICT(verdict, kCertified)\n"
         << explain(verdict);
}

}  // namespace belfry::testing

/// A verdict of `sim::explore` is CERTIFIED, and the body returns.
#define EXPECT_CERTIFIED(verdict) EXPECT_TRUE(::belfry::testing::is_certified((verdict)))
/// A verdict of `sim::explore` has at least this level: `EXPECT_VERDICT(verdict, kSampled)`. The
/// body may throw.
#define EXPECT_VERDICT(verdict, level) \
  EXPECT_TRUE(::belfry::testing::has_level((verdict), ::belfry::sim::VerdictLevel::level))
