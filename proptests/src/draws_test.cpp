// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/draws.h"

#include "belfry/belfry.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

namespace belfry::testing::draws_test {
namespace {

using ::testing::HasSubstr;

// The evidence against the condition about draws; empty if the condition holds.
std::string evidence_of(const sim::Verdict& verdict) {
  const auto& conditions = verdict.report().conditions;
  const auto found =
      std::ranges::find(conditions, "the body draws no random values", &sim::Condition::name);
  if (found == conditions.end()) return "no such condition";
  return found->holds ? "" : found->evidence;
}

sim::Verdict explore_sum(bool draws, int drawn) {
  return sim::explore({.devices = 2, .seed = 7}, [=](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    return strategy.run([=](ReplicaContext& replica) {
      if (!draws || replica.replica_id() == 0) return drawn;
      return *rc::gen::inRange(0, 10);
    })[1];
  });
}

RC_GTEST_PROP(Draws, InReplicasOfABodyAreRefusedAndNamed, ()) {
  asserts("SEM-193");
  const int drawn = *rc::gen::inRange(0, 10);
  const sim::Verdict with = explore_sum(true, drawn);
  RC_ASSERT(with.level() == sim::VerdictLevel::kSampled);
  EXPECT_THAT(evidence_of(with), HasSubstr("replica 1 draws from RapidCheck"));
  EXPECT_THAT(with.report().outcomes.at(0).outcome, HasSubstr("draw before the exploration"));
  const sim::Verdict without = explore_sum(false, drawn);
  RC_ASSERT(evidence_of(without).empty());
  RC_ASSERT(without.report().outcomes.at(0).outcome == std::to_string(drawn));
}

RC_GTEST_PROP(Draws, OfTheBodyItselfAreRefused, ()) {
  const sim::Verdict verdict =
      sim::explore({.devices = 1}, [](sim::Backend&) { return *rc::gen::inRange(0, 10); });
  EXPECT_THAT(evidence_of(verdict), HasSubstr("the caller draws from RapidCheck"));
}

}  // namespace
}  // namespace belfry::testing::draws_test
