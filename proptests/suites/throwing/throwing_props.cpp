// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Exceptions of the user (INV-2, INV-6, SEM-6, SEM-7, SEM-42, SEM-59). For a fault at any point of
// any verb: the exception leaves the run as it was thrown, all variables have their values from
// before or from after the verb, no memory is left over, and the strategy goes on working. Each
// property repeats a program with a fault at point 1, 2, 3, ..., until the program ends before the
// point (FaultSweep).
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/throwing/fault_sweep.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace belfry::testing::throwing_props {
namespace {

rc::Gen<VerbsCase> verbs_case() {
  const auto verb =
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, throwing_verbs().size()));
  return rc::gen::apply(
      [](const BackendRequest& request, std::vector<std::size_t> verbs) {
        return VerbsCase{request, std::move(verbs)};
      },
      backend_request(4), rc::gen::resize(3, rc::gen::container<std::vector<std::size_t>>(verb)));
}

class UserExceptions : public Property {
 protected:
  std::string sweep(const VerbsCase& drawn, FaultInjector::Extent extent) {
    Bench bench(*this, drawn.backend);
    return FaultSweep(bench, drawn, subject_).sweep(extent);
  }

  // Repeats the verbs with the strategy's own memory and 0, 1, 2, ... rows more, up to the peak.
  std::string sweep_memory_limits(VerbsCase drawn, int occupied_device) {
    const OwnMemory own = own_memory(drawn.backend);
    Subject subject = subject_;
    subject.own_bytes = own.of_a_run;
    std::size_t peak = 0;
    {
      Bench bench(*this, drawn.backend);
      FaultSweep(bench, drawn, subject).run_once(endings_, occupied_device);
      for (int device = 0; device < drawn.backend.devices; ++device) {
        peak = std::max(peak, bench.backend().device(device).memory().peak_bytes);
      }
    }
    std::string problem;
    // Memory is allocated in rows: steps of one row reach every limit that makes a difference.
    for (std::size_t rows = 0; rows * kRowBytes < peak && problem.empty(); ++rows) {
      drawn.backend.memory_limit_bytes =
          own.always + own.of_a_run + std::max<std::size_t>(1, rows * kRowBytes);
      Bench bench(*this, drawn.backend);
      problem = FaultSweep(bench, drawn, subject).run_once(endings_, occupied_device);
    }
    return problem;
  }

  // Bytes of a device that the strategy allocates for itself.
  struct OwnMemory {
    std::size_t always = 0;
    std::size_t of_a_run = 0;
  };
  OwnMemory own_memory(const BackendRequest& request) {
    Bench bench(*this, request);
    const auto strategy = strategy_factory().make(bench.backend(), {});
    live_memory(bench.backend());  // Waits for work in flight.
    OwnMemory own;
    for (int index = 0; index < request.devices; ++index) {
      own.always = std::max(own.always, bench.backend().device(index).memory().live_bytes);
    }
    strategy->run([](ReplicaContext&) {});
    // Memory that a communicator keeps counts as memory of the run.
    for (int index = 0; index < request.devices; ++index) {
      const std::size_t peak = bench.backend().device(index).memory().peak_bytes;
      own.of_a_run = std::max(own.of_a_run, peak - std::min(peak, own.always));
    }
    return own;
  }

  static constexpr std::size_t kRowBytes = kRowLength * sizeof(float);
  const Subject subject_{
      [](Backend& backend, FaultInjector&) { return strategy_factory().make(backend, {}); }};
  Endings endings_;
};

class UserExceptionsInAVerb : public UserExceptions,
                              public ::testing::WithParamInterface<std::size_t> {};

TEST_P(UserExceptionsInAVerb, ChangeAllOrNothing) {
  testing::asserts("SEM-42");
  for (const BackendRequest& backend : small_backends(GetParam())) {
    const VerbsCase drawn{backend, {GetParam()}};
    EXPECT_EQ(sweep(drawn, FaultInjector::Extent::kOnce), "") << to_string(drawn);
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, UserExceptionsInAVerb,
                         ::testing::Range(std::size_t{0}, throwing_verbs().size()), name_of_verb);

TEST_F(UserExceptions, InProgramsChangeAllOrNothing) {
  holds([this] { RC_ASSERT(sweep(*verbs_case(), FaultInjector::Extent::kOnce) == ""); });
}

TEST_F(UserExceptions, InReplicaProgramsMatchTheModel) {
  holds([this](const ReplicaProgram& program) {
    const BackendRequest request = *backend_request(4);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    RC_ASSERT(run_program(strategy, program) == predict(program, request.devices));
    RC_ASSERT(works(strategy));
    const auto level = live_memory(bench.backend());
    for (MutationKind kind :
         {MutationKind::kThrow, MutationKind::kMergeThrows, MutationKind::kUpdateThrows}) {
      for (int round = 0; round < static_cast<int>(program.rounds.size()); ++round) {
        for (int id = 0; id < request.devices; ++id) {
          const Mutation mutation{kind, id, round};
          if (!applies(mutation, program, request.devices)) continue;
          const ReplicaProgram faulty = mutated(program, mutation, request.devices);
          const Outcome outcome = run_program(strategy, faulty);
          RC_ASSERT(outcome.failed);
          RC_ASSERT(outcome == predict(faulty, request.devices));
        }
      }
    }
    RC_ASSERT(works(strategy));
    RC_ASSERT(live_memory(bench.backend()) == level);
  });
}

TEST_F(UserExceptions, OfDevicesWithoutMemoryChangeAllOrNothing) {
  holds([this] {
    const VerbsCase drawn = *verbs_case();
    const int occupied_device = *rc::gen::inRange(-1, drawn.backend.devices);
    RC_ASSERT(sweep_memory_limits(drawn, occupied_device) == "");
  });
  for (std::size_t verb = 0; verb < throwing_verbs().size(); ++verb) {
    for (int occupied_device : {0, 1}) {
      EXPECT_EQ(sweep_memory_limits({devices(2), {verb}}, occupied_device), "")
          << throwing_verbs()[verb].name;
    }
  }
  EXPECT_GT(endings_.well, 0);
  EXPECT_GT(endings_.before_verbs, 0);
  EXPECT_GT(endings_.in_verbs, 0);
}

// Copies during the handling of the first exception throw as well.
TEST_F(UserExceptions, FromOnePointOnChangeAllOrNothing) {
  holds([this] { RC_ASSERT(sweep(*verbs_case(), FaultInjector::Extent::kFromThenOn) == ""); });
}

}  // namespace
}  // namespace belfry::testing::throwing_props
