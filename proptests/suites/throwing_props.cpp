// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-2 and INV-6, and SEM-6, SEM-7, SEM-42, SEM-59: whatever throws, wherever it does, every
// exception comes out as it was thrown, variables are as before or as after, nothing stays behind,
// and the strategy goes on working. Each property goes through all places: the first, the second,
// and so on until the program ends without having come by one.
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/throwing_campaign.h"

#include <algorithm>
#include <cstddef>
#include <memory>
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

class Throwing : public Property {
 protected:
  std::string go(const VerbsCase& drawn, Planter::Extent extent) {
    Bench bench(*this, drawn.backend);
    return Campaign(bench, drawn, subject_).go(extent);
  }

  // With every amount of memory that makes a difference, from none but the strategy's own on.
  std::string go_with_short_memory(VerbsCase drawn, int burdened) {
    const OwnMemory own = own_memory(drawn.backend);
    Subject subject = subject_;
    subject.own_bytes = own.of_a_run;
    std::size_t peak = 0;
    {
      Bench bench(*this, drawn.backend);
      Campaign(bench, drawn, subject).go_once(ends_, burdened);
      for (int device = 0; device < drawn.backend.devices; ++device) {
        peak = std::max(peak, bench.backend().device(device).memory().peak_bytes);
      }
    }
    std::string problem;
    // All tensors are rows, or some of them one after another.
    for (std::size_t rows = 0; rows * kRowBytes < peak && problem.empty(); ++rows) {
      drawn.backend.memory_limit_bytes =
          own.always + own.of_a_run + std::max<std::size_t>(1, rows * kRowBytes);
      Bench bench(*this, drawn.backend);
      problem = Campaign(bench, drawn, subject).go_once(ends_, burdened);
    }
    return problem;
  }

  // Bytes of a device that the strategy takes without being asked.
  struct OwnMemory {
    std::size_t always = 0;
    std::size_t of_a_run = 0;
  };
  OwnMemory own_memory(const BackendRequest& request) {
    Bench bench(*this, request);
    const auto strategy = strategy_factory().make(bench.backend(), {});
    live_memory(bench.backend());  // Waits for what is in flight.
    OwnMemory own;
    for (int index = 0; index < request.devices; ++index) {
      own.always = std::max(own.always, bench.backend().device(index).memory().live_bytes);
    }
    strategy->run([](ReplicaContext&) {});
    // What a communicator keeps of it is of the run.
    for (int index = 0; index < request.devices; ++index) {
      const std::size_t peak = bench.backend().device(index).memory().peak_bytes;
      own.of_a_run = std::max(own.of_a_run, peak - std::min(peak, own.always));
    }
    return own;
  }

  static constexpr std::size_t kRowBytes = kRowLength * sizeof(float);
  const Subject subject_{
      [](Backend& backend, Planter&) { return strategy_factory().make(backend, {}); }};
  Ends ends_;
};

TEST_F(Throwing, AtAnyPointOfAnyVerbComesOutAndChangesAllOrNothing) {
  testing::asserts("SEM-42");
  for (std::size_t verb = 0; verb < throwing_verbs().size(); ++verb) {
    for (const BackendRequest& backend : small_backends(verb)) {
      const VerbsCase drawn{backend, {verb}};
      EXPECT_EQ(go(drawn, Planter::Extent::kOnce), "") << to_string(drawn);
    }
  }
}

TEST_F(Throwing, AtAnyPointOfAnyProgramComesOutAndChangesAllOrNothing) {
  holds([this] { RC_ASSERT(go(*verbs_case(), Planter::Extent::kOnce) == ""); });
}

TEST_F(Throwing, AtAnyStepOfAnyReplicaIsReportedAsTheModelSays) {
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

TEST_F(Throwing, OfDevicesWithoutMemoryComesOutAndChangesAllOrNothing) {
  holds([this] {
    const VerbsCase drawn = *verbs_case();
    const int burdened = *rc::gen::inRange(-1, drawn.backend.devices);
    RC_ASSERT(go_with_short_memory(drawn, burdened) == "");
  });
  for (std::size_t verb = 0; verb < throwing_verbs().size(); ++verb) {
    for (int burdened : {0, 1}) {
      EXPECT_EQ(go_with_short_memory({devices(2), {verb}}, burdened), "")
          << throwing_verbs()[verb].name;
    }
  }
  EXPECT_GT(ends_.well, 0);
  EXPECT_GT(ends_.before_verbs, 0);
  EXPECT_GT(ends_.in_verbs, 0);
}

// Copies that are made on the way out throw as well.
TEST_F(Throwing, FromAPointOnComesOutAndChangesAllOrNothing) {
  holds([this] { RC_ASSERT(go(*verbs_case(), Planter::Extent::kFromThenOn) == ""); });
}

}  // namespace
}  // namespace belfry::testing::throwing_props
