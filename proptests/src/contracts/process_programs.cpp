// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-prog and C-fail over several processes: each process compares its replicas and variables with
// the sequential model of all replicas.
#include "belfry/testing/mutations.h"
#include "belfry/testing/replica_programs.h"
#include "contracts/contract_case.h"
#include "contracts/program_outcomes.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

using Counts = std::vector<int>;  // The numbers of devices, by process.

// The number of devices of the process of a replica.
int devices_beside(const Counts& devices_of, int replica) {
  std::size_t process = 0;
  while (replica >= devices_of[process]) replica -= devices_of[process++];
  return devices_of[process];
}

// Without runs in merges; the sources of broadcasts belong to the first process with replicas.
ReplicaProgram for_processes(ReplicaProgram program, const Counts& devices_of) {
  for (Step& step : program.rounds) {
    if (step.kind == StepKind::kNestedRun) step.kind = StepKind::kMergeSum;
    if (step.kind == StepKind::kBroadcast) step.amount %= devices_beside(devices_of, 0);
  }
  return program;
}

// By value: generators are asked again while a case shrinks, after the end of the place.
ReplicaProgram draw_program(const ProcessPlace& place, std::size_t least_rounds) {
  const auto fits = rc::gen::suchThat(replica_program(), [least_rounds](const auto& one) {
    return one.rounds.size() >= least_rounds;
  });
  return *rc::gen::map(fits, [devices_of = place.devices_of](ReplicaProgram drawn) {
            return for_processes(std::move(drawn), devices_of);
          }).as("program");
}

// Functions are compared within each process (SEM-151): a replica alone in its process throws
// instead.
Mutation draw_fault(const ProcessPlace& place, const ReplicaProgram& program) {
  const auto seen = [devices_of = place.devices_of](Mutation fault) {
    const bool is_seen =
        fault.kind != MutationKind::kOtherFunction || devices_beside(devices_of, fault.replica) > 1;
    if (!is_seen) fault.kind = MutationKind::kThrow;
    return fault;
  };
  return *rc::gen::map(mutation_of(program, place.replicas()), seen).as("fault");
}

bool throws(const ReplicaProgram& program, int replica) {
  return std::ranges::any_of(program.steps_of(replica),
                             [](const Step& step) { return step.deviation == Deviation::kThrows; });
}

// The lowest replica of the process that throws; -1: none.
int own_thrower(const ProcessPlace& place, const ReplicaProgram& program) {
  const int end = place.first_replica() + place.devices();
  for (int id = place.first_replica(); id < end; ++id) {
    if (throws(program, id)) return id;
  }
  return -1;
}

// The outcome in this process, from the outcome of all replicas. A process throws an exception of
// its own replicas, or BF-071 after a failure elsewhere (SEM-154); the report has the replicas of
// the failed process. A mismatch is equal in all processes (SEM-152).
Outcome seen_in(const ProcessPlace& place, const ReplicaProgram& program, Outcome whole) {
  for (int id = 0; id < place.replicas(); ++id) {
    const bool is_own = id >= place.first_replica() && id < place.first_replica() + place.devices();
    if (!is_own) whole.replicas[static_cast<std::size_t>(id)] = {};
  }
  const bool listens = place.devices() == 0;
  if (listens) whole.merge_sites.clear();
  if (whole.code == ErrorCode::kReplicaThrew) {
    whole.places.clear();
    whole.thrower = own_thrower(place, program);
    if (whole.thrower < 0) whole.code = ErrorCode::kPeerFailed;
  } else if (whole.code == ErrorCode::kMergeThrew) {
    // The functions of all processes throw.
    whole.places.clear();
    if (listens) whole.code = ErrorCode::kPeerFailed;
  } else if (whole.code == ErrorCode::kStructure && listens) {
    // The structures that meet are in the other processes (SEM-212).
    whole.places.clear();
    whole.code = ErrorCode::kPeerFailed;
  }
  return whole;
}

void demand_part(const ContractSubject& subject, Outcome got, const ReplicaProgram& program,
                 const std::string& when) {
  const ProcessPlace& place = *subject.place;
  const Outcome wanted = seen_in(place, program, predict(program, place.replicas()));
  if (wanted.places.empty() && got.code == wanted.code) got.places.clear();
  demand_outcome(subject, std::move(got), wanted, when);
}

}  // namespace

void check_programs_of_processes(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const ReplicaProgram program = draw_program(*subject.place, 0);
  ContractFixture fixture(subject, setting);
  demand_part(subject, run_program(fixture.strategy(), program), program,
              "under the schedule drawn");
  demand_part(
      subject,
      run_program(fixture.strategy(), program, {.concurrent = false, .site = CallSite::here()}),
      program, "under the serial schedule");
}

void check_failures_of_processes(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const ReplicaProgram program = draw_program(*subject.place, 1);
  const Mutation fault = draw_fault(*subject.place, program);
  const ReplicaProgram faulty = mutated(program, fault, subject.place->replicas());
  ContractFixture fixture(subject, setting);
  demand_part(subject, run_program(fixture.strategy(), faulty), faulty, "with a fault");
  demand_part(subject, run_program(fixture.strategy(), program), program, "after a failure");
}

}  // namespace belfry::testing
