// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/certified.h"

#include <rapidcheck.h>

#include <string>

namespace belfry::testing {

/// has_level, after the level is counted as a tag of the case.
inline ::testing::AssertionResult counted_level(const sim::Verdict& verdict,
                                                sim::VerdictLevel level) {
  RC_TAG(verdict.level());
  return has_level(verdict, level);
}

}  // namespace belfry::testing

/// In a property of RapidCheck: the verdict of `sim::explore` about the drawn case has at least
/// this level. RapidCheck prints the distribution of levels over all cases if the property holds,
/// and else the text of `explain` for the shrunk case. Draw before the exploration.
///
///   RC_GTEST_PROP(Training, IsCertified, (int steps)) {
///     RC_ASSERT_VERDICT(sim::explore(options, body_of(steps)), kCertified);
///   }
#define RC_ASSERT_VERDICT(verdict, level)                                                    \
  do {                                                                                       \
    if (const auto belfry_result =                                                           \
            ::belfry::testing::counted_level((verdict), ::belfry::sim::VerdictLevel::level); \
        !belfry_result) {                                                                    \
      RC_FAIL(std::string(belfry_result.message()));                                         \
    }                                                                                        \
  } while (false)
