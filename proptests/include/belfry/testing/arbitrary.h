// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/options.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/draws.h"
#include "belfry/testing/mutations.h"
#include "belfry/testing/replica_programs.h"
#include "belfry/testing/topology.h"
#include "belfry/testing/values.h"

#include <rapidcheck.h>

#include <iosfwd>
#include <vector>

/// Generators of belfry's types for RapidCheck properties. Draw before `run` and assert after
/// `run`: RapidCheck has static state for draws, and replicas must not touch static state.
namespace belfry::testing {

/// Between 1 and `most` devices; small numbers are likelier, and powers of two occur.
rc::Gen<int> device_count(int most = 64);
/// A backend with 1 to `most_devices` devices, and at least one of the devices, in any order; often
/// all. Shrinks towards few devices, and towards all devices in order.
rc::Gen<Topology> topology(int most_devices = 64);
/// topology for a backend with `backend_devices` devices.
rc::Gen<Topology> topology_of(int backend_devices);
/// A device count up to `most_devices`, a schedule, a seed and a carrier; shrinks towards the fixed
/// schedule.
rc::Gen<BackendRequest> backend_request(int most_devices = 64);
/// A program with matching rounds. Shrinks by dropping whole rounds: the rest still matches.
rc::Gen<ReplicaProgram> replica_program();

/// A backend and a program.
struct ProgramCase {
  BackendRequest backend;  ///< The backend.
  ReplicaProgram program;  ///< The program.
};
/// A backend, a program and a single fault.
struct MutatedCase {
  BackendRequest backend;  ///< The backend, with at least two devices.
  ReplicaProgram program;  ///< Without the fault.
  Mutation mutation;       ///< The fault.
};
/// All kinds of mutations but kNothing.
std::vector<MutationKind> all_mutations();
/// A mutation of one of `kinds` that applies to the program on so many replicas. At least one
/// applies.
rc::Gen<Mutation> mutation_of(const ReplicaProgram& program, int replicas,
                              const std::vector<MutationKind>& kinds = all_mutations());
/// At least two devices, a program, and a mutation of one of `kinds` that applies to the program.
rc::Gen<MutatedCase> mutated_case(const std::vector<MutationKind>& kinds = all_mutations(),
                                  int most_devices = 64);

/// Prints a counterexample, for RapidCheck.
void showValue(const BackendRequest& request, std::ostream& out);
void showValue(const Topology& topology, std::ostream& out);
void showValue(const Values& values, std::ostream& out);
void showValue(const ReplicaProgram& program, std::ostream& out);
void showValue(const Outcome& outcome, std::ostream& out);
void showValue(const Mutation& mutation, std::ostream& out);
void showValue(const ProgramCase& value, std::ostream& out);
void showValue(const MutatedCase& value, std::ostream& out);

}  // namespace belfry::testing

namespace belfry::sim {
/// Prints a counterexample, for RapidCheck.
void showValue(const Options& options, std::ostream& out);
}  // namespace belfry::sim

namespace rc {

template <>
struct Arbitrary<belfry::testing::Values> {
  static Gen<belfry::testing::Values> arbitrary();
};
template <>
struct Arbitrary<belfry::testing::BackendRequest> {
  static Gen<belfry::testing::BackendRequest> arbitrary() {
    return belfry::testing::backend_request();
  }
};
template <>
struct Arbitrary<belfry::testing::Topology> {
  static Gen<belfry::testing::Topology> arbitrary() { return belfry::testing::topology(); }
};
template <>
struct Arbitrary<belfry::testing::ReplicaProgram> {
  static Gen<belfry::testing::ReplicaProgram> arbitrary() {
    return belfry::testing::replica_program();
  }
};
template <>
struct Arbitrary<belfry::testing::ProgramCase> {
  static Gen<belfry::testing::ProgramCase> arbitrary();
};
template <>
struct Arbitrary<belfry::testing::MutatedCase> {
  static Gen<belfry::testing::MutatedCase> arbitrary() { return belfry::testing::mutated_case(); }
};
/// A device count, a schedule and a seed. Shrinks towards one device, the fixed schedule and seed
/// 0.
template <>
struct Arbitrary<belfry::sim::Options> {
  static Gen<belfry::sim::Options> arbitrary();
};

}  // namespace rc
