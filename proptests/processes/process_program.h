// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"

#include <cstdint>
#include <optional>
#include <vector>

/// Random programs for strategies over any number of processes.
namespace belfry::testing {

enum class Verb : std::uint8_t {
  kAllReduceSum,
  kAllReduceMean,
  kAllReduceVector,
  kAllReduceCustom,
  kAllGather,
  kMergeReduce,
  kMergeBatchReduce,
  kMergeBroadcast,
  kMergeGather,
  kMergeAxis,
  kMergePerReplica,
  // With tensors and variables.
  kTensorSum,
  kTensorMean,
  kTensorGather,
  kMergeTensorBroadcast,
  kMergeTensorBatch,
  kMergeTensorAxis,
  kMergeTensorCustom,
  kAssignMirrored,
  kAssignTable,
  kUpdate,
  kReplicaLocal,
  kChangeLocal,
  kTransaction,
};
inline constexpr int kVerbs = 24;

enum class Fault : std::uint8_t { kThrow, kReturn, kOtherVerb, kThrowInMerge };
inline constexpr int kFaults = 4;

/// The exception of a replica; no type of belfry.
struct PlannedFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ProcessProgram {
  struct Failure {
    int replica;
    int step;
    Fault fault;
  };

  std::vector<int> devices;  ///< By process.
  std::vector<Verb> verbs;
  std::vector<double> values;  ///< The first value of each replica.
  std::vector<bool> absent;    ///< By replica: whether the replica takes no part.
  std::optional<ReductionOrder> order;
  bool rounds = false;  ///< To eighths after each step: sums of eighths are exact in any order.
  std::optional<Failure> failure{};

  int replicas() const { return static_cast<int>(values.size()); }
  int process_of(int replica) const;
  /// The first value of variables that a process gives; the process of replica 0 decides, as in the
  /// program on a single strategy.
  double first_value(int process) const { return 1.25 + 100 * (process - process_of(0)); }
  /// Whether no replica of some process takes part.
  bool has_listeners() const;
  /// The lowest replica of the process that takes part.
  int lowest_of(int process) const;
};

/// The value of a replica after each step.
using Trace = std::vector<double>;

/// A random program of at least so many processes. Some replicas take no part, and some processes
/// have no devices. Context: in a property.
ProcessProgram any_program(int processes_at_least);

/// A random program of so many processes. Context: in a property.
ProcessProgram program_of(int processes);

/// Runs the program on the replicas of this process. `first` is the first value of variables.
/// `after`, if not null, gets the values of all variables after the run.
PerReplica<Trace> run_program(Strategy& strategy, const ProcessProgram& program, double first,
                              Trace* after = nullptr);

/// The program on a single strategy with all replicas.
PerReplica<Trace> run_alone(const ProcessProgram& program, Trace* after = nullptr);

struct ProcessOutcome {
  std::vector<Trace> traces;               ///< By replica.
  std::vector<Trace> after;                ///< The variables after the run, by process.
  std::vector<std::uint64_t> hashes;       ///< Of the log of each process's backend.
  std::vector<std::exception_ptr> errors;  ///< Of each process's run; null if it returned.
};

/// The program over its processes, then a run without a fault on the same strategies: its sums of
/// ones, by process, are appended to `later` (the number of replicas, if all is well).
ProcessOutcome run_over_processes(const ProcessProgram& program, std::vector<double>& later);

}  // namespace belfry::testing
