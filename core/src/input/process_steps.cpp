// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_steps.h"

#include "belfry/detail/byte_stream.h"
#include "belfry/detail/process_exchange.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/error.h"

#include <exception>
#include <optional>
#include <vector>

namespace belfry::detail {
namespace {

constexpr const char* kRead = "a step of a distributed dataset";

// The processes with replicas: the readers of parts of the data.
struct Pipelines {
  int count = 0;
  int own = 0;
  bool is_one_here = false;
};

bool has_replicas(const ProcessExchange& processes, int process) {
  return processes.first_replica(process + 1) > processes.first_replica(process);
}

Pipelines pipelines_of(const ProcessExchange& processes) {
  Pipelines pipelines;
  for (int process = 0; process < processes.processes(); ++process) {
    if (process == processes.rank()) pipelines.own = pipelines.count;
    pipelines.count += has_replicas(processes, process) ? 1 : 0;
  }
  pipelines.is_one_here = has_replicas(processes, processes.rank());
  return pipelines;
}

void require_workers(const ProcessExchange& processes, const DistributeOptions& options,
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

void require_equal_counts(const ProcessExchange& processes, CallSite site) {
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

[[noreturn]] void throw_no_batch_to_pad(int process, CallSite site) {
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "process " + std::to_string(process) + " has no batch, and other processes have batches",
      "give every process at least a batch, or drop partial steps", site);
}

[[noreturn]] void throw_recipes_differ(const std::string& recipes, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "processes distribute different datasets: " + recipes,
                             "make the same dataset with the same options in every process", site);
}

}  // namespace

InputPart input_part(StrategyCore& core, const DistributeOptions& options, bool is_made_here,
                     CallSite site) {
  const ProcessExchange* const processes = core.processes();
  if (processes == nullptr) return {core.own(), core.size(), false};
  const bool is_part = is_made_here || options.num_workers != 1;
  if (options.num_workers != 1) require_workers(*processes, options, site);
  if (!is_part) return {core.own(), core.size(), true};
  if (!is_made_here && options.elements == ElementUse::kGlobalBatch) {
    require_equal_counts(*processes, site);
  }
  return {core.own(), core.own().count(), false};
}

InputContext input_context(StrategyCore& core, const DistributeOptions& options, CallSite site) {
  const ProcessExchange* const processes = core.processes();
  if (processes == nullptr) {
    return {options.num_workers, options.worker, options.num_workers * core.size()};
  }
  if (options.num_workers != 1) require_workers(*processes, options, site);
  const Pipelines pipelines = pipelines_of(*processes);
  return {pipelines.count, pipelines.own, core.size()};
}

StepEnd agree_on_step(StrategyCore& core, StepEnd own, const std::string& recipe, CallSite site) {
  if (core.processes() == nullptr) return own;
  ByteWriter out;
  out.put(own.has_nothing);
  // A process without shares knows nothing of the end.
  out.put(own.takes_shares && (own.is_partial || own.has_nothing));
  out.put(own.lacks_empty);
  out.put(own.takes_shares);
  out.text(recipe);
  StepEnd all{.has_nothing = true};
  std::optional<std::string> first;
  int lacking = -1;
  std::string recipes;
  bool same = true;
  const std::vector<Bytes> sent = core.processes()->values(kRead, site, out.bytes());
  for (std::size_t process = 0; process < sent.size(); ++process) {
    ByteReader in(sent[process]);
    all.has_nothing = in.get<bool>() && all.has_nothing;
    all.is_partial = in.get<bool>() || all.is_partial;
    if (in.get<bool>() && lacking < 0) lacking = static_cast<int>(process);
    const bool takes_shares = in.get<bool>();
    const std::string text = in.text();
    if (!takes_shares) continue;
    if (!first) first = text;
    same = same && text == *first;
    recipes += (recipes.empty() ? "" : "; ") + text + " in process " + std::to_string(process);
  }
  if (!same) throw_recipes_differ(recipes, site);
  if (lacking >= 0 && !all.has_nothing) throw_no_batch_to_pad(lacking, site);
  return all;
}

void tell_failed_step(StrategyCore& core, CallSite site) noexcept {
  if (core.processes() == nullptr) return;
  core.processes()->tell_failure(std::current_exception(), -1, site);
}

}  // namespace belfry::detail
