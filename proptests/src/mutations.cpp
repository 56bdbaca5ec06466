// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/mutations.h"

#include "belfry/detail/options_text.h"

#include <array>
#include <string_view>
#include <utility>

namespace belfry::testing {
namespace {

bool is_all_reduce(StepKind kind) {
  return kind >= StepKind::kAllReduceSum && kind <= StepKind::kAllReduceNest;
}

// Only reductions compare lengths; merge functions accept any lengths.
bool needs_equal_lengths(StepKind kind) {
  return is_all_reduce(kind) || kind == StepKind::kUpdate || kind == StepKind::kAssignSum ||
         kind == StepKind::kAssignMean;
}

// The next round after `round` in which replicas merge; -1: none.
int next_merge(const ReplicaProgram& program, int round) {
  for (std::size_t i = static_cast<std::size_t>(round) + 1; i < program.rounds.size(); ++i) {
    if (merges(program.rounds[i].kind)) return static_cast<int>(i);
  }
  return -1;
}

Deviation deviation_of(MutationKind kind) {
  switch (kind) {
    case MutationKind::kLonger:
      return Deviation::kLonger;
    case MutationKind::kOtherOp:
      return Deviation::kOtherOp;
    case MutationKind::kOtherFunction:
      return Deviation::kOtherFunction;
    case MutationKind::kOtherType:
      return Deviation::kOtherType;
    case MutationKind::kThrow:
    case MutationKind::kTwoThrow:
      return Deviation::kThrows;
    case MutationKind::kMergeThrows:
      return Deviation::kMergeThrows;
    case MutationKind::kUpdateThrows:
      return Deviation::kUpdateThrows;
    default:
      return Deviation::kNone;
  }
}

bool fits_step(const Mutation& mutation, const ReplicaProgram& program) {
  const StepKind kind = program.rounds[static_cast<std::size_t>(mutation.round)].kind;
  switch (mutation.kind) {
    case MutationKind::kDropMerge:
      return merges(kind);
    case MutationKind::kSwapMerges:
      return merges(kind) && next_merge(program, mutation.round) >= 0;
    case MutationKind::kLonger:
      return needs_equal_lengths(kind);
    case MutationKind::kOtherOp:
      return is_all_reduce(kind);
    case MutationKind::kOtherFunction:
      return kind == StepKind::kMergeInOrder;
    case MutationKind::kOtherType:
      return merges(kind) && kind < StepKind::kAssignSum;
    case MutationKind::kThrow:
    case MutationKind::kTwoThrow:
      return true;
    case MutationKind::kMergeThrows:
      return has_merge_function(kind);
    case MutationKind::kUpdateThrows:
      return kind == StepKind::kUpdate;
    case MutationKind::kNothing:
      break;
  }
  return false;
}

}  // namespace

std::string to_string(MutationKind kind) {
  constexpr std::array<std::string_view, kNumMutationKinds> kWords{
      "nothing",          "drop a merge",     "swap merges",  "one element more",
      "another operator", "another function", "another type", "throw",
      "two throw",        "merge throws",     "update throws"};
  return detail::word_of(kWords, static_cast<int>(kind));
}

std::string to_string(const Mutation& mutation) {
  return to_string(mutation.kind) + " on replica " + std::to_string(mutation.replica) +
         " in round " + std::to_string(mutation.round);
}

bool applies(const Mutation& mutation, const ReplicaProgram& program, int replicas) {
  const bool alone_is_fine = mutation.kind >= MutationKind::kThrow;
  return mutation.kind != MutationKind::kNothing && mutation.replica >= 0 &&
         mutation.replica < replicas && mutation.round >= 0 &&
         mutation.round < static_cast<int>(program.rounds.size()) &&
         (replicas > 1 || alone_is_fine) && fits_step(mutation, program);
}

ReplicaProgram mutated(const ReplicaProgram& program, const Mutation& mutation, int replicas) {
  check(applies(mutation, program, replicas), "a mutation that applies");
  ReplicaProgram out = program;
  std::vector<Step> steps = program.rounds;
  const auto round = static_cast<std::size_t>(mutation.round);
  if (mutation.kind == MutationKind::kDropMerge) {
    steps.erase(steps.begin() + mutation.round);
  } else if (mutation.kind == MutationKind::kSwapMerges) {
    std::swap(steps[round], steps[static_cast<std::size_t>(next_merge(program, mutation.round))]);
  } else {
    steps[round].deviation = deviation_of(mutation.kind);
  }
  if (mutation.kind >= MutationKind::kMergeThrows) {
    out.rounds = steps;  // Replica 0's function runs: all replicas have the faulty function.
  } else {
    out.exceptions.emplace_back(mutation.replica, steps);
    if (mutation.kind == MutationKind::kTwoThrow && mutation.replica != replicas - 1) {
      out.exceptions.emplace_back(replicas - 1, steps);
    }
  }
  return out;
}

}  // namespace belfry::testing
