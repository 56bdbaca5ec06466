// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"
#include "belfry/run_options.h"
#include "belfry/strategy.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

/// Where the data of a step lives.
enum class Residence : std::uint8_t { kHost, kTensor };

/// What replicas do in one round. Each has its row of `values` (small integers stored as float).
enum class StepKind : std::uint8_t {
  kCompute,       ///< Changes the row; no merge.
  kReadMirrored,  ///< Adds this replica's component of a mirrored variable to the row; no merge.
  kWriteLocal,    ///< Adds the row to this replica's component of a replica-local one; no merge.
  kMergeSum,      ///< merge_call that adds the rows up.
  kMergeInOrder,  ///< merge_call whose result depends on which replica gave what.
  kAllReduceSum,
  kAllReduceMean,
  kAllReduceNest,  ///< SUM of a nest of three leaves.
  kUpdate,         ///< merge_call that reduces the rows and updates a mirrored variable.
  kNestedRun,      ///< merge_call that starts a run, which reduces again.
  kBroadcast,      ///< merge_call that hands one replica's row to all.
  kAssignSum,      ///< Assigns a mirrored variable in the replicas, by each aggregation.
  kAssignMean,
  kAssignFirst,
};
inline constexpr int kNumStepKinds = 14;

/// Whether all replicas meet in such a step.
constexpr bool merges(StepKind kind) { return kind >= StepKind::kMergeSum; }
/// Whether the step passes a function of the program to the merge, which writes down that it ran.
constexpr bool has_merge_function(StepKind kind) {
  return kind == StepKind::kMergeSum || kind == StepKind::kUpdate || kind == StepKind::kNestedRun ||
         kind == StepKind::kBroadcast;
}
std::string to_string(StepKind kind);

/// How one replica's step differs from that of the others. `mutations.h` says which go with which.
enum class Deviation : std::uint8_t {
  kNone,
  kLonger,         ///< Brings one element more.
  kOtherOp,        ///< all_reduce: MEAN for SUM and the reverse.
  kOtherFunction,  ///< kMergeInOrder: passes another function.
  kOtherType,      ///< Brings its row from the other residence.
  kThrows,         ///< Throws instead.
  kMergeThrows,    ///< The merge function throws (it is replica 0's that runs).
  kUpdateThrows,   ///< kUpdate: the function that updates throws on the last component.
};

/// One step of one replica. Steps of one round have the same site.
struct Step {
  StepKind kind = StepKind::kCompute;
  Residence residence = Residence::kHost;
  int amount = 1;  ///< A parameter of the step, in [0, 8).
  int site = 0;    ///< The line that its merge is called at.
  Deviation deviation = Deviation::kNone;

  bool operator==(const Step&) const = default;
};

/// What one replica leaves behind.
struct ReplicaTrace {
  std::vector<std::vector<float>> rows;  ///< After each completed step.
  std::vector<float> local;              ///< Its component of the replica-local variable.

  bool operator==(const ReplicaTrace&) const = default;
};

/// Components of the mirrored variables, which are equal.
struct MirroredValues {
  bool agree = true;  ///< All components of each had the same bits.
  std::vector<float> host;
  std::vector<float> tensor;
  std::vector<float> by_sum;  ///< Of a tensor.
  std::vector<float> by_mean;
  std::vector<float> by_first;

  bool operator==(const MirroredValues&) const = default;
};

/// How a run ended. Equal outcomes are equal in every bit.
struct Outcome {
  bool failed = false;
  ErrorCode code = ErrorCode::kInternal;    ///< Of a failed run; kReplicaThrew or kMergeThrew when
                                            ///< the program's own exception came out.
  int thrower = -1;                         ///< The replica that threw it; -1: a merge or update.
  std::vector<std::pair<int, int>> places;  ///< Replica and line, as the report names them.
  std::vector<int> merge_sites;             ///< Of the merge functions that ran, in order.
  std::vector<ReplicaTrace> replicas;
  MirroredValues mirrored;

  bool operator==(const Outcome&) const = default;
};
std::string to_string(const Outcome& outcome);

/// What a program throws on purpose.
struct ProgramError : std::runtime_error {
  ProgramError(int where, const std::string& what) : std::runtime_error(what), replica(where) {}
  int replica;
};

/// A program for any number of replicas, as data: the rounds that all replicas go through.
/// Mutations replace the steps of single replicas.
struct ReplicaProgram {
  int length = 1;  ///< Elements of a row.
  std::vector<Step> rounds;
  /// Steps of replicas that deviate, by replica id; others do `rounds`.
  std::vector<std::pair<int, std::vector<Step>>> exceptions;

  const std::vector<Step>& steps_of(int replica) const;
};
std::string to_string(const ReplicaProgram& program);

/// The file that the sites of programs name; the line is Step::site.
inline constexpr const char* kProgramFile = "program";

/// Runs the program on a strategy and collects what happened. Asserts nothing.
/// Throws: what comes out of the run without being the run's failure.
Outcome run_program(Strategy& strategy, const ReplicaProgram& program, RunOptions options = {});

/// What `run_program` must return, worked out one round after the other, without belfry.
Outcome predict(const ReplicaProgram& program, int replicas);

}  // namespace belfry::testing
