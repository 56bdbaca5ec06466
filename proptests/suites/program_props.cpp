// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-3, INV-4, INV-7 and INV-8 over random programs: the values that replicas see, the merges and
// the variables match a sequential model, for every backend and schedule.
#include "belfry/testing/asserts.h"
#include "suites/property.h"

namespace belfry::testing::program_props {
namespace {

class Programs : public Property {
 protected:
  Outcome outcome(const BackendRequest& request, const ReplicaProgram& program,
                  RunOptions options = {}) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    return run_program(strategy, program, options);
  }
};

TEST_F(Programs, MatchTheSequentialModel) {
  holds([this](const ProgramCase& drawn) {
    RC_CLASSIFY(drawn.backend.devices == 1, "one device");
    RC_CLASSIFY(drawn.backend.devices > 8, "more than 8 devices");
    RC_CLASSIFY(drawn.program.rounds.size() > 5, "more than 5 rounds");
    RC_ASSERT(outcome(drawn.backend, drawn.program) ==
              predict(drawn.program, drawn.backend.devices));
  });
}

TEST_F(Programs, DoTheSameUnderEverySchedule) {
  testing::asserts("SEM-8");
  holds([this](const ProgramCase& drawn) {
    const Outcome serial =
        outcome(drawn.backend, drawn.program, {.concurrent = false, .site = CallSite::here()});
    BackendRequest request = drawn.backend;
    for (std::uint64_t seed : {1U, 2U, 3U}) {
      request.schedule = ScheduleKind::kRandom;
      request.seed = drawn.backend.seed + seed;
      RC_ASSERT(outcome(request, drawn.program) == serial);
    }
    request.carrier = CarrierKind::kFiber;
    request.schedule = ScheduleKind::kFixed;
    RC_ASSERT(outcome(request, drawn.program) == serial);
  });
}

TEST_F(Programs, DoTheSameWhenTheirChoicesAreReplayed) {
  holds([this](ProgramCase drawn) {
    drawn.backend.schedule = ScheduleKind::kRandom;
    // Threads that run at once have no schedule to replay.
    if (drawn.backend.carrier == CarrierKind::kConcurrent) {
      drawn.backend.carrier = CarrierKind::kBaton;
    }
    Bench first(*this, drawn.backend);
    Strategy& strategy = first.strategy();
    const Outcome once = run_program(strategy, drawn.program);
    BackendRequest again = drawn.backend;
    again.schedule = ScheduleKind::kReplay;
    again.replay = backend_factory().replay_token(first.backend());
    RC_ASSERT(outcome(again, drawn.program) == once);
  });
}

TEST_F(Programs, LeaveNothingBehindForTheNext) {
  holds([this](const BackendRequest& request, const ReplicaProgram& first,
               const ReplicaProgram& second) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    RC_ASSERT(run_program(strategy, first) == predict(first, request.devices));
    RC_ASSERT(run_program(strategy, second) == predict(second, request.devices));
  });
}

}  // namespace
}  // namespace belfry::testing::program_props
