// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"

#include "belfry/detail/options_text.h"
#include "belfry/error.h"
#include "cluster/launcher.h"
#include "cluster/tf_config_process.h"
#include "cluster/variable.h"

#include <array>
#include <string_view>

namespace belfry {
namespace {

using detail::Launcher;
using detail::Variable;
using detail::variable_of;

void require_below_size(const Variable& number, int value, const Variable& size, int limit,
                        CallSite site) {
  if (value < limit) return;
  number.fail("not below the number of processes; " + size.text(),
              "the processes of a job are numbered from 0", site);
}

std::optional<ProcessIdentity> told_by(const Launcher& launcher, const Environment& environment,
                                       CallSite site) {
  const Variable rank = variable_of(environment, launcher.rank);
  const Variable size = variable_of(environment, launcher.size);
  const Variable local = variable_of(environment, launcher.local_rank);
  const bool marked = launcher.mark.empty() || variable_of(environment, launcher.mark).is_set();
  if (!marked || !rank.is_set() || !size.is_set() || !local.is_set()) return std::nullopt;
  const ProcessNumbers numbers{
      .rank = rank.number(site), .size = size.number(site), .local_rank = local.number(site)};
  if (numbers.size == 0) {
    size.fail("a job has at least one process", "start the program with its launcher", site);
  }
  require_below_size(rank, numbers.rank, size, numbers.size, site);
  require_below_size(local, numbers.local_rank, size, numbers.size, site);
  return ProcessIdentity{.numbers = numbers, .source = launcher.source, .task = {}, .cluster = {}};
}

ProcessIdentity explicit_identity(const ProcessNumbers& given, CallSite site) {
  const bool fits = given.rank >= 0 && given.rank < given.size && given.local_rank >= 0 &&
                    given.local_rank < given.size;
  if (!fits) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument, "the numbers that the program gave are " + to_string(given),
        "rank and local rank are from 0 to the number of processes - 1", site);
  }
  return {.numbers = given, .source = ProcessSource::kExplicit, .task = {}, .cluster = {}};
}

}  // namespace

std::string to_string(const ProcessNumbers& numbers) {
  return "process " + std::to_string(numbers.rank) + " of " + std::to_string(numbers.size) +
         ", local " + std::to_string(numbers.local_rank);
}

std::string to_string(ProcessSource source) {
  static constexpr std::array<std::string_view, 6> kWords{"the program", "TF_CONFIG", "Open MPI",
                                                          "Slurm",       "torchrun",  "no source"};
  return detail::word_of(kWords, static_cast<int>(source));
}

std::string to_string(const ProcessIdentity& identity) {
  const std::string task = identity.task ? ", " + to_string(*identity.task) : "";
  return to_string(identity.numbers) + task + ", told by " + to_string(identity.source);
}

ProcessIdentity resolve(const Environment& environment, const std::optional<ProcessNumbers>& given,
                        CallSite site) {
  if (given) return explicit_identity(*given, site);
  if (const auto told = detail::told_by_tf_config(environment, site)) return *told;
  for (const Launcher& launcher : detail::kLaunchers) {
    if (const auto told = told_by(launcher, environment, site)) return *told;
  }
  if (detail::processes_without_task(environment, site) > 1) {
    variable_of(environment, "TF_CONFIG")
        .fail("the cluster has several processes, and no task names this process",
              R"(write the task, for example "task": {"type": "worker", "index": 0})", site);
  }
  return {};
}

}  // namespace belfry
