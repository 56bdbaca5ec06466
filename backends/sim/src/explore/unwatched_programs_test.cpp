// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Explorations in a program without watched code.
#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "belfry/testing/asserts.h"
#include "testing/broken_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belfry::sim::unwatched_programs_test {
namespace {

using testing::broken_conditions;
using ::testing::ElementsAre;

// A captured variable, or a value passed over a reduction.
double total_of(Backend& backend, bool captured) {
  MirroredStrategy strategy{backend};
  double total = 0;
  const auto results = strategy.run([&](ReplicaContext& replica) {
    if (!captured) return replica.all_reduce(ReduceOp::kSum, replica.replica_id() + 1.0);
    total = 10 * total + replica.replica_id() + 1;
    return 0.0;
  });
  return total + results[1];
}

TEST(UnwatchedPrograms, AreNotCertified) {
  belfry::testing::asserts("SEM-193");
  for (const bool captured : {true, false}) {
    const Verdict verdict = explore({.devices = 2, .seed = 7},
                                    [=](Backend& backend) { return total_of(backend, captured); });
    EXPECT_EQ(verdict.level(), captured ? VerdictLevel::kRefuted : VerdictLevel::kSampled)
        << explain(verdict);
    EXPECT_THAT(broken_conditions(verdict),
                ElementsAre("replicas share no host bytes that one of them writes"));
  }
}

}  // namespace
}  // namespace belfry::sim::unwatched_programs_test
