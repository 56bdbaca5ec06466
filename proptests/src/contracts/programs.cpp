// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-prog and C-fail: random programs, whole and with one fault, against a sequential model.
#include "belfry/testing/mutations.h"
#include "belfry/testing/replica_programs.h"
#include "contracts/contract_case.h"
#include "contracts/program_outcomes.h"

#include <algorithm>
#include <utility>

namespace belfry::testing {
namespace {

// Draws a fault of a single replica, in its own steps or in its merges.
MutatedCase draw_fault_of_one(const ContractSubject& subject) {
  MutatedCase drawn;
  drawn.backend = *backend_request(subject.most_devices).as("backend");
  drawn.program = *rc::gen::suchThat(replica_program(), [](const auto& one) {
                     return !one.rounds.empty();
                   }).as("program");
  const int rounds = static_cast<int>(drawn.program.rounds.size());
  const auto fault = [program = drawn.program](std::pair<MutationKind, int> kind_and_round) {
    Mutation one{kind_and_round.first, 0, kind_and_round.second};
    // A replica can throw in any round.
    if (!applies(one, program, 1)) one.kind = MutationKind::kThrow;
    return one;
  };
  drawn.mutation =
      *rc::gen::map(rc::gen::pair(rc::gen::element(MutationKind::kThrow, MutationKind::kMergeThrows,
                                                   MutationKind::kUpdateThrows),
                                  rc::gen::inRange(0, rounds)),
                    fault)
           .as("fault");
  return drawn;
}

// A replica on each device of the request, after `spare` devices without a replica.
Setting behind(int spare, BackendRequest request) {
  Topology topology = Topology::whole(request.devices);
  topology.backend_devices = request.devices += spare;
  for (int& device : topology.devices) device += spare;
  return {request, topology};
}

}  // namespace

void check_programs(const ContractSubject& subject) {
  if (subject.place != nullptr) return check_programs_of_processes(subject);
  const Setting setting = draw_setting(subject);
  const ReplicaProgram program = *replica_program().as("program");
  ContractFixture fixture(subject, setting);
  const Outcome wanted = predict(program, fixture.replicas());
  demand_outcome(subject, run_program(fixture.strategy(), program), wanted,
                 "under the schedule drawn");
  demand_outcome(
      subject,
      run_program(fixture.strategy(), program, {.concurrent = false, .site = CallSite::here()}),
      wanted, "under the serial schedule");
}

void check_failures(const ContractSubject& subject) {
  if (subject.place != nullptr) return check_failures_of_processes(subject);
  const MutatedCase drawn =
      subject.has_one_replica()
          ? draw_fault_of_one(subject)
          : *mutated_case(all_mutations(), std::max(subject.most_devices, 2)).as("case");
  const int free = std::max(subject.most_devices - drawn.backend.devices, 0);
  const int spare = *rc::gen::inRange(0, 1 + std::min(free, 2)).as("devices without a replica");
  ContractFixture fixture(subject, behind(spare, drawn.backend));
  const int replicas = fixture.replicas();
  demand(applies(drawn.mutation, drawn.program, replicas),
         "there are " + std::to_string(replicas) + " replicas on " +
             std::to_string(fixture.devices().size()) + " devices");
  const ReplicaProgram faulty = mutated(drawn.program, drawn.mutation, replicas);
  demand_outcome(subject, run_program(fixture.strategy(), faulty), predict(faulty, replicas),
                 "with a fault");
  demand_outcome(subject, run_program(fixture.strategy(), drawn.program),
                 predict(drawn.program, replicas), "after a failure");
}

}  // namespace belfry::testing
