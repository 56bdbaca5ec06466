// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/error.h"
#include "belfry/strategy.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

/// The location of a step's data.
enum class Residence : std::uint8_t { kHost, kTensor };

/// The step of the replicas in a round. Each replica has a row of `values` (small integers as
/// float).
enum class StepKind : std::uint8_t {
  kCompute,       ///< Changes the row; no merge.
  kReadMirrored,  ///< Adds this replica's component of a mirrored variable to the row; no merge.
  kWriteLocal,  ///< Adds the row to this replica's component of a replica-local variable; no merge.
  kMergeSum,    ///< merge_call that adds the rows up.
  kMergeInOrder,  ///< merge_call with a result that depends on the order of the replicas.
  kAllReduceSum,
  kAllReduceMean,
  kAllReduceNest,  ///< SUM of a nest of three leaves.
  kUpdate,         ///< merge_call that reduces the rows and updates a mirrored variable.
  kNestedRun,      ///< merge_call that starts a run with another reduction.
  kBroadcast,      ///< merge_call that broadcasts the row of a single replica.
  kAssignSum,      ///< Assigns a mirrored variable in the replicas; a step for each aggregation.
  kAssignMean,
  kAssignFirst,
};
inline constexpr int kNumStepKinds = 14;  ///< The number of kinds.

/// Whether a step of this kind is a merge.
constexpr bool merges(StepKind kind) { return kind >= StepKind::kMergeSum; }
/// Whether the step passes a function of the program to the merge. The function records its call.
constexpr bool has_merge_function(StepKind kind) {
  return kind == StepKind::kMergeSum || kind == StepKind::kUpdate || kind == StepKind::kNestedRun ||
         kind == StepKind::kBroadcast;
}
/// The kind in words.
std::string to_string(StepKind kind);

/// The difference between a replica's step and the step of all others. `mutations.h` has the
/// faults.
enum class Deviation : std::uint8_t {
  kNone,
  kLonger,         ///< Brings an additional element.
  kOtherOp,        ///< all_reduce: MEAN for SUM and the reverse.
  kOtherFunction,  ///< kMergeInOrder: passes another function.
  kOtherType,      ///< Brings its row from the other residence.
  kThrows,         ///< Throws, and does nothing else.
  kMergeThrows,    ///< The merge function throws (replica 0's function runs).
  kUpdateThrows,   ///< kUpdate: the update function throws on the last component.
};

/// A step of a replica. Steps of the same round have the same site.
struct Step {
  StepKind kind = StepKind::kCompute;      ///< The kind of the step.
  Residence residence = Residence::kHost;  ///< The location of the row.
  int amount = 1;                          ///< A parameter of the step, in [0, 8).
  int site = 0;                            ///< The line of the merge's call site.
  Deviation deviation = Deviation::kNone;  ///< The difference to the step of all others.

  bool operator==(const Step&) const = default;
};

/// The final state of a replica.
struct ReplicaTrace {
  std::vector<std::vector<float>> rows;  ///< The row after each completed step.
  std::vector<float> local;              ///< The component of the replica-local variable.

  bool operator==(const ReplicaTrace&) const = default;
};

/// Components of the mirrored variables, which are equal.
struct MirroredValues {
  bool agree = true;            ///< Whether all components of each variable had the same bits.
  std::vector<float> host;      ///< A variable in host memory.
  std::vector<float> tensor;    ///< A tensor variable.
  std::vector<float> by_sum;    ///< Of a tensor variable.
  std::vector<float> by_mean;   ///< Assigned with MEAN.
  std::vector<float> by_first;  ///< Assigned with the value of replica 0.

  bool operator==(const MirroredValues&) const = default;
};

/// The end of a run. Equal outcomes are equal in every bit.
struct Outcome {
  bool failed = false;                      ///< Whether the run threw.
  ErrorCode code = ErrorCode::kInternal;    ///< The code of a failed run; kReplicaThrew or
                                            ///< kMergeThrew for the program's own exceptions.
  int thrower = -1;                         ///< The replica that threw; -1: a merge or update.
  std::vector<std::pair<int, int>> places;  ///< Replica and line, as in the report.
  std::vector<int> merge_sites;        ///< The sites of the merge functions that ran, in order.
  std::vector<ReplicaTrace> replicas;  ///< By replica id.
  MirroredValues mirrored;             ///< The mirrored variables.

  bool operator==(const Outcome&) const = default;
};
/// The outcome in words, for messages.
std::string to_string(const Outcome& outcome);

/// The intentional exception of a program.
struct ProgramError : std::runtime_error {
  /// The exception of replica `where`; -1: of a merge or update.
  ProgramError(int where, const std::string& what) : std::runtime_error(what), replica(where) {}
  int replica;  ///< The replica; -1: a merge or update.
};

/// A program for any number of replicas, as data: the rounds of all replicas. Mutations replace the
/// steps of single replicas.
struct ReplicaProgram {
  int length = 1;            ///< Elements of a row.
  std::vector<Step> rounds;  ///< The steps of a round, for replicas without exceptions.
  /// Steps of replicas that deviate, by replica id; all other replicas have `rounds`.
  std::vector<std::pair<int, std::vector<Step>>> exceptions;

  const std::vector<Step>& steps_of(int replica) const;
};
/// The program in words, for messages.
std::string to_string(const ReplicaProgram& program);

/// The file name in the sites of programs; the line is Step::site.
inline constexpr const char* kProgramFile = "program";

/// Runs the program on a strategy and collects the outcome. Asserts nothing.
/// Throws: exceptions that leave the run without being the run's failure.
Outcome run_program(Strategy& strategy, const ReplicaProgram& program, RunOptions options = {});

/// The expected result of `run_program`, computed round by round, without belfry.
Outcome predict(const ReplicaProgram& program, int replicas);

using belfry::operator<<;

}  // namespace belfry::testing
