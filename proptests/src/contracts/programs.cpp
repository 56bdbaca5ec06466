// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-prog and C-fail: random programs, whole and with one fault, against a sequential model.
#include "belfry/testing/mutations.h"
#include "belfry/testing/replica_programs.h"
#include "contracts/contract_case.h"

#include <algorithm>
#include <utility>

namespace belfry::testing {
namespace {

// The first difference between two outcomes.
std::string difference(const Outcome& got, const Outcome& wanted) {
  const auto ended = [](const Outcome& outcome) {
    return outcome.failed ? "failed with " + to_string(outcome.code) : std::string("ended well");
  };
  if (got.failed != wanted.failed || got.code != wanted.code) {
    return "the program " + ended(got) + ", where the model " + ended(wanted);
  }
  if (got.thrower != wanted.thrower) return "the exception of another replica came out";
  if (got.places != wanted.places) return "the report names other places";
  if (got.merge_sites != wanted.merge_sites) {
    return "the merges at lines " + text_of(got.merge_sites) + " ran, where the model runs " +
           text_of(wanted.merge_sites);
  }
  for (std::size_t id = 0; id < wanted.replicas.size(); ++id) {
    if (got.replicas[id] == wanted.replicas[id]) continue;
    return replica_text(static_cast<int>(id)) + " computed something else than the model";
  }
  if (!got.mirrored.agree) return "the components of a mirrored variable differ";
  return "a mirrored variable holds something else than in the model";
}

// An outcome with zeros for all values, for strategies without exact values.
Outcome without_values(Outcome outcome) {
  const auto clear = [](std::vector<float>& row) { std::ranges::fill(row, 0.0F); };
  for (ReplicaTrace& trace : outcome.replicas) {
    std::ranges::for_each(trace.rows, clear);
    clear(trace.local);
  }
  MirroredValues& mirrored = outcome.mirrored;
  for (auto* row : {&mirrored.host, &mirrored.tensor, &mirrored.by_sum, &mirrored.by_mean,
                    &mirrored.by_first}) {
    clear(*row);
  }
  return outcome;
}

void demand_outcome(const ContractSubject& subject, Outcome got, Outcome wanted,
                    const std::string& when) {
  if (subject.tolerance() > 0) {
    got = without_values(std::move(got));
    wanted = without_values(std::move(wanted));
  }
  demand(got == wanted, when + ": " + difference(got, wanted));
}

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
