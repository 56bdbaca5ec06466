// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_steps.h"

#include "belfry/detail/round_members.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/error.h"

#include <cstddef>
#include <exception>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

// The processes with replicas: the readers of parts of the data.
struct Pipelines {
  int count = 0;
  int own = 0;
  bool is_one_here = false;
};

bool has_replicas(const RoundMembers& processes, int process) {
  return processes.first_replica(process + 1) > processes.first_replica(process);
}

Pipelines pipelines_of(const RoundMembers& processes) {
  Pipelines pipelines;
  for (int process = 0; process < processes.processes(); ++process) {
    if (process == processes.rank()) pipelines.own = pipelines.count;
    pipelines.count += has_replicas(processes, process) ? 1 : 0;
  }
  pipelines.is_one_here = has_replicas(processes, processes.rank());
  return pipelines;
}

void require_workers(const RoundMembers& processes, const DistributeOptions& options,
                     CallSite site) {
  const Pipelines pipelines = pipelines_of(processes);
  if (!pipelines.is_one_here) return;
  if (options.num_workers == pipelines.count && options.worker == pipelines.own) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "the options name worker " + std::to_string(options.worker) + " of " +
          std::to_string(options.num_workers) + " in process " + std::to_string(processes.rank()) +
          " of " + std::to_string(processes.processes()),
      "leave num_workers and worker out if every process reads the whole dataset; write "
      ".num_workers = group.size(), .worker = group.rank() if each process reads a part of its own",
      site);
}

void require_equal_steps(const DistributeOptions& options, bool is_made_here, CallSite site) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
  };
  if (is_made_here) {
    refuse("the steps of an input function cannot be equal for workers that do not know each other",
           "use distribute_dataset with the data of all workers, or strategies over processes");
  }
  if (options.end_of_data == EndOfData::kMaskReplicas) {
    refuse("a worker has no step if all of its replicas are masked",
           "drop or pad the partial step, for equally many steps of each worker");
  }
}

// The shares of a worker in the steps of one strategy with the replicas of all workers.
InputPart part_of_worker(int replicas, const DistributeOptions& options) {
  std::vector<int> ids(static_cast<std::size_t>(replicas));
  const int first = options.worker * replicas;
  std::iota(ids.begin(), ids.end(), first);
  const int shares = options.num_workers * replicas;
  return {.own = Participants(shares, std::move(ids)),
          .shares = shares,
          .is_whole = true,
          .first = first};
}

void require_equal_counts(const RoundMembers& processes, CallSite site) {
  const int first = processes.process_of(0);
  const int usual = processes.first_replica(first + 1);
  for (int process = 0; process < processes.processes(); ++process) {
    const int replicas = processes.first_replica(process + 1) - processes.first_replica(process);
    if (replicas == usual || replicas == 0) continue;
    throw UnsupportedError(ErrorCode::kUnsupported,
                           "global batches in parts of each process need as many replicas in "
                           "every process, and process " +
                               std::to_string(process) + " has " + std::to_string(replicas) +
                               ", process " + std::to_string(first) + " " + std::to_string(usual),
                           "let every process read the whole dataset: leave num_workers and worker "
                           "out",
                           site);
  }
}

}  // namespace

InputPart input_part(StrategyCore& core, const DistributeOptions& options, bool is_made_here,
                     CallSite site) {
  const RoundMembers& processes = core.members();
  if (processes.is_alone()) {
    const bool is_whole = options.equal_steps && options.num_workers != 1;
    if (is_whole) require_equal_steps(options, is_made_here, site);
    // Parts of each batch are counted through all workers already.
    if (!is_whole || options.split == BatchSplit::kEachBatch) {
      return {.own = core.own(), .shares = core.size()};
    }
    return part_of_worker(core.size(), options);
  }
  const bool is_part = is_made_here || (options.num_workers != 1 && !options.equal_steps);
  if (options.num_workers != 1) require_workers(processes, options, site);
  if (!is_part) return {.own = core.own(), .shares = core.size(), .is_whole = true};
  if (!is_made_here && options.elements == ElementUse::kGlobalBatch) {
    require_equal_counts(processes, site);
  }
  const bool has_all_data = options.split == BatchSplit::kEachBatch;
  InputPart part{.own = core.own(), .shares = core.own().count()};
  if (is_made_here) {
    part.comparison = DataComparison::kNone;
  } else if (!has_all_data) {
    part.comparison = DataComparison::kParts;
  }
  if (part.comparison != DataComparison::kEqual) {
    const Pipelines pipelines = pipelines_of(processes);
    part.data = {true, pipelines.count, pipelines.is_one_here ? pipelines.own : -1};
  }
  return part;
}

InputContext input_context(StrategyCore& core, const DistributeOptions& options, CallSite site) {
  const RoundMembers& processes = core.members();
  if (processes.is_alone()) {
    return {options.num_workers, options.worker, options.num_workers * core.size()};
  }
  if (options.num_workers != 1) require_workers(processes, options, site);
  const Pipelines pipelines = pipelines_of(processes);
  return {pipelines.count, pipelines.own, core.size()};
}

}  // namespace belfry::detail
