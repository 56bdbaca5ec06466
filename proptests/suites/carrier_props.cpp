// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-4 for carriers: fibers, threads that take turns and threads that run all at once do the same,
// down to what each replica, merge and stream has done by itself.
#include "suites/property.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace belfry::testing {
namespace {

class Carriers : public Property {
 protected:
  struct Deed {
    Outcome outcome;
    std::optional<std::uint64_t> hash;
  };

  Deed deed(BackendRequest request, const ReplicaProgram& program, CarrierKind carrier) {
    request.carrier = carrier;
    Bench bench(*this, request);
    Deed done{run_program(bench.strategy(), program), {}};
    done.hash = backend_factory().order_free_hash(bench.backend());
    return done;
  }

  void agree(const BackendRequest& request, const ReplicaProgram& program) {
    const Deed fibers = deed(request, program, CarrierKind::kFiber);
    RC_ASSERT(fibers.outcome == predict(program, request.devices));
    for (CarrierKind carrier : {CarrierKind::kBaton, CarrierKind::kConcurrent}) {
      const Deed threads = deed(request, program, carrier);
      RC_ASSERT(threads.outcome == fibers.outcome);
      RC_ASSERT(threads.hash == fibers.hash);
    }
    // The schedule is no part of it either.
    BackendRequest other = request;
    other.schedule = ScheduleKind::kRandom;
    other.seed = request.seed + 2;  // Of the same parity: the same machine, on some backends.
    const Deed another = deed(other, program, CarrierKind::kFiber);
    RC_ASSERT(another.outcome == fibers.outcome);
    RC_ASSERT(another.hash == fibers.hash);
  }
};

TEST_F(Carriers, DoTheSame) {
  holds([this](const ReplicaProgram& program) { agree(*backend_request(8), program); });
}

TEST_F(Carriers, FailTheSame) {
  holds([this] {
    const MutatedCase drawn = *mutated_case(all_mutations(), 8);
    agree(drawn.backend, mutated(drawn.program, drawn.mutation, drawn.backend.devices));
  });
}

}  // namespace
}  // namespace belfry::testing
