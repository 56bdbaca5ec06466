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

}  // namespace belfry::testing

/// A verdict of `sim::explore` is CERTIFIED.
#define EXPECT_CERTIFIED(verdict) \
  EXPECT_TRUE(::belfry::testing::has_level((verdict), ::belfry::sim::VerdictLevel::kCertified))
/// A verdict of `sim::explore` has at least this level: `EXPECT_VERDICT(verdict, kSampled)`.
#define EXPECT_VERDICT(verdict, level) \
  EXPECT_TRUE(::belfry::testing::has_level((verdict), ::belfry::sim::VerdictLevel::level))
