// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/testing/replica_programs.h"

#include <cstdint>
#include <string>

namespace belfry::testing {

/// A fault in a program with matching rounds. Each fault must be reported; `predict` gives the
/// report.
enum class MutationKind : std::uint8_t {
  kNothing,
  kDropMerge,      ///< A replica leaves out a merge.
  kSwapMerges,     ///< A replica exchanges two merges.
  kLonger,         ///< A replica brings an additional element to a reduction.
  kOtherOp,        ///< A replica asks for another operator.
  kOtherFunction,  ///< A replica passes another function to the same merge.
  kOtherType,      ///< A replica brings another type to the same merge.
  kThrow,          ///< A replica throws.
  kTwoThrow,       ///< The mutation's replica and the last replica throw in the same round.
  kMergeThrows,    ///< The merge function throws.
  kUpdateThrows,   ///< The update function of a variable throws on the last component.
};
inline constexpr int kNumMutationKinds = 11;  ///< The number of kinds.

/// `drop a merge`, `swap merges`, ...
std::string to_string(MutationKind kind);

/// A fault of one replica in one round.
struct Mutation {
  MutationKind kind = MutationKind::kNothing;  ///< The fault.
  int replica = 0;                             ///< The replica with the fault.
  int round = 0;                               ///< An index of ReplicaProgram::rounds.
};
/// The kind, the replica and the round.
std::string to_string(const Mutation& mutation);

/// Whether `mutation` makes a difference to `program` on `replicas` replicas.
bool applies(const Mutation& mutation, const ReplicaProgram& program, int replicas);

/// The program with the fault. The mutation must apply to the program.
ReplicaProgram mutated(const ReplicaProgram& program, const Mutation& mutation, int replicas);

using belfry::operator<<;

}  // namespace belfry::testing
