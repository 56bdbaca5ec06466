// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-5 and INV-6: a program with a single fault fails in the round where replicas differ, with the
// right code and the place of every replica. No merge function of the round runs, no variable is
// half changed, and the strategy goes on working.
#include "suites/property.h"

#include <vector>

namespace belfry::testing::failure_props {
namespace {

class Failures : public Property {
 protected:
  void are_reported(const std::vector<MutationKind>& kinds) {
    holds([this, &kinds] {
      const MutatedCase drawn = *mutated_case(kinds);
      const int replicas = drawn.backend.devices;
      const ReplicaProgram faulty = mutated(drawn.program, drawn.mutation, replicas);
      Bench bench(*this, drawn.backend);
      Strategy& strategy = bench.strategy();
      const Outcome outcome = run_program(strategy, faulty);
      RC_ASSERT(outcome.failed);
      RC_ASSERT(outcome == predict(faulty, replicas));
      RC_ASSERT(run_program(strategy, drawn.program) == predict(drawn.program, replicas));
      // A few small programs may have no collective.
      strategy.run(meet_with_a_tensor);
    });
  }
};

TEST_F(Failures, OfMatchingAreReportedAtTheFirstDifference) {
  are_reported({MutationKind::kDropMerge, MutationKind::kSwapMerges, MutationKind::kOtherFunction,
                MutationKind::kOtherType});
}

TEST_F(Failures, OfStructureChangeNothing) {
  are_reported({MutationKind::kLonger, MutationKind::kOtherOp});
}

TEST_F(Failures, RethrowTheExceptionOfTheLowestReplica) {
  are_reported({MutationKind::kThrow, MutationKind::kTwoThrow});
}

TEST_F(Failures, OfMergesAndUpdatesChangeNothing) {
  are_reported({MutationKind::kMergeThrows, MutationKind::kUpdateThrows});
}

TEST_F(Failures, AreTheSameUnderEverySchedule) {
  holds([this](const MutatedCase& drawn) {
    const ReplicaProgram faulty = mutated(drawn.program, drawn.mutation, drawn.backend.devices);
    const auto outcome = [&](const BackendRequest& request, bool concurrent) {
      Bench bench(*this, request);
      Strategy& strategy = bench.strategy();
      const RunOptions options{.concurrent = concurrent, .site = CallSite::here()};
      const Outcome result = run_program(strategy, faulty, options);
      strategy.run(meet_with_a_tensor);
      return result;
    };
    const Outcome serial = outcome(drawn.backend, false);
    RC_ASSERT(serial.failed);
    BackendRequest request = drawn.backend;
    request.schedule = ScheduleKind::kRandom;
    for (std::uint64_t seed : {1U, 2U, 3U}) {
      request.seed = drawn.backend.seed + seed;
      RC_ASSERT(outcome(request, true) == serial);
    }
  });
}

}  // namespace
}  // namespace belfry::testing::failure_props
