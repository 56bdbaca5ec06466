// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-4 for carriers: fibers, threads that take turns and threads that run at once have the same
// results and the same operations of each replica, merge and stream.
#include "suites/property.h"

#include <cstdint>
#include <optional>

namespace belfry::testing::carrier_props {
namespace {

class Carriers : public Property {
 protected:
  struct RunResult {
    Outcome outcome;
    std::optional<std::uint64_t> hash;
  };

  RunResult result_of_run(BackendRequest request, const ReplicaProgram& program,
                          CarrierKind carrier) {
    request.carrier = carrier;
    Bench bench(*this, request);
    RunResult done{run_program(bench.strategy(), program), {}};
    done.hash = backend_factory().order_free_hash(bench.backend());
    return done;
  }

  void expect_same_on_all_carriers(const BackendRequest& request, const ReplicaProgram& program) {
    const RunResult fibers = result_of_run(request, program, CarrierKind::kFiber);
    RC_ASSERT(fibers.outcome == predict(program, request.devices));
    for (CarrierKind carrier : {CarrierKind::kBaton, CarrierKind::kConcurrent}) {
      const RunResult threads = result_of_run(request, program, carrier);
      RC_ASSERT(threads.outcome == fibers.outcome);
      RC_ASSERT(threads.hash == fibers.hash);
    }
    // The schedule does not change the operations either.
    BackendRequest other = request;
    other.schedule = ScheduleKind::kRandom;
    other.seed = request.seed + 2;  // Equal parity: the same devices, on some backends.
    const RunResult another = result_of_run(other, program, CarrierKind::kFiber);
    RC_ASSERT(another.outcome == fibers.outcome);
    RC_ASSERT(another.hash == fibers.hash);
  }
};

TEST_F(Carriers, DoTheSame) {
  holds([this](const ReplicaProgram& program) {
    expect_same_on_all_carriers(*backend_request(8), program);
  });
}

TEST_F(Carriers, FailTheSame) {
  holds([this] {
    const MutatedCase drawn = *mutated_case(all_mutations(), 8);
    expect_same_on_all_carriers(drawn.backend,
                                mutated(drawn.program, drawn.mutation, drawn.backend.devices));
  });
}

// Makes variables of both kinds in replicas, in two different orders: a replica that is ahead of
// replica 0 waits until replica 0 has made the variable, some replicas more than once.
float make_variables(Strategy& strategy, ReplicaContext& replica, bool odd_ones_fail) {
  const bool odd = replica.replica_id() % 2 == 1;
  const auto host = [&] {
    return strategy.replica_local_variable(ReduceOp::kSum, 1.0F, {.name = "host"}).on(replica);
  };
  const auto device = [&] {
    const auto made = strategy.mirrored_variable([] { return Tensor<float>::full({3}, 2.0F); },
                                                 {.name = "device"});
    return replica.all_reduce(ReduceOp::kSum, made.on(replica));
  };
  float early = 0;
  if (odd) {
    strategy.mirrored_variable(4.0F, {.name = "second"});
    early = host();
  } else {
    early = host();
    strategy.mirrored_variable(4.0F, {.name = "second"});
  }
  if (odd && odd_ones_fail) strategy.mirrored_variable(0.0F, {.name = "nobody makes it"});
  return early + device().to_host()[1];
}

TEST_F(Carriers, MakeVariablesInReplicasTheSame) {
  holds([this] {
    BackendRequest request = *backend_request(8);
    // Replica 0 makes the variables of its own requests: a single replica does not fail.
    const bool fails = request.devices > 1 && *rc::gen::arbitrary<bool>();
    const std::uint64_t parity =
        request.seed % 2;  // Equal parity: the same devices, on some backends.
    std::optional<std::uint64_t> first;
    for (int i = 0; i < 12; ++i) {
      request.carrier = static_cast<CarrierKind>(i % 3);
      request.schedule = i < 3 ? ScheduleKind::kFixed : ScheduleKind::kRandom;
      request.seed = static_cast<std::uint64_t>(2 * i) + parity;
      Bench bench(*this, request);
      Strategy& strategy = bench.strategy();
      strategy.run(meet_with_a_tensor);
      const auto run = [&] {
        return strategy.run(
            [&](ReplicaContext& replica) { return make_variables(strategy, replica, fails); });
      };
      if (fails) {
        RC_ASSERT_THROWS_AS(run(), VariableMismatchError);
      } else {
        // 1 of the variable on the host, 2 on each device.
        for (const float value : run()) RC_ASSERT(value == 1.0F + 2.0F * request.devices);
      }
      const auto hash = backend_factory().order_free_hash(bench.backend());
      if (i == 0) first = hash;
      RC_ASSERT(hash == first);
    }
  });
}

}  // namespace
}  // namespace belfry::testing::carrier_props
