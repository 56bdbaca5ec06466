// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/replica_programs.h"

#include <cstdint>
#include <string>

namespace belfry::testing {

/// One fault in a program whose rounds match. Each must be reported; `predict` says how.
enum class MutationKind : std::uint8_t {
  kNothing,
  kDropMerge,      ///< One replica leaves a merge out.
  kSwapMerges,     ///< One replica takes two merges in the other order.
  kLonger,         ///< One replica brings one element more to a reduction.
  kOtherOp,        ///< One replica asks for another operator.
  kOtherFunction,  ///< One replica passes another function to the same merge.
  kOtherType,      ///< One replica brings another type to the same merge.
  kThrow,          ///< One replica throws.
  kTwoThrow,       ///< That replica and the last one throw in the same round.
  kMergeThrows,    ///< The merge function throws.
  kUpdateThrows,   ///< The function that updates a variable throws on its last component.
};
inline constexpr int kNumMutationKinds = 11;

struct Mutation {
  MutationKind kind = MutationKind::kNothing;
  int replica = 0;
  int round = 0;  ///< An index of ReplicaProgram::rounds.
};
std::string to_string(const Mutation& mutation);

/// Whether `mutation` makes a difference to `program` on so many replicas.
bool applies(const Mutation& mutation, const ReplicaProgram& program, int replicas);

/// The program with the fault, which must apply.
ReplicaProgram mutated(const ReplicaProgram& program, const Mutation& mutation, int replicas);

}  // namespace belfry::testing
