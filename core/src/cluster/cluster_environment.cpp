// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"

#include "belfry/detail/options_text.h"
#include "belfry/error.h"
#include "cluster/tf_config_process.h"
#include "cluster/variable.h"

#include <array>
#include <string_view>

namespace belfry {
namespace {

using detail::Variable;
using detail::variable_of;

// The variables in which a launcher writes the numbers of each process.
struct Launcher {
  ProcessSource source;
  // Must be set, too: the script of a Slurm job has the other variables alone. Empty: no mark.
  std::string_view mark;
  std::string_view rank;
  std::string_view size;
  std::string_view local_rank;
};

// In the order of ProcessSource. In the script of a Slurm job, mpirun gives the script's variables
// to all processes: Open MPI's come first.
constexpr std::array kLaunchers{
    Launcher{ProcessSource::kOpenMpi, "", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{ProcessSource::kSlurm, "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
             "SLURM_LOCALID"},
    Launcher{ProcessSource::kTorchrun, "", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
};

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

// The variables behind an identity, with their values, for messages; may be empty.
std::string variables_behind(const ProcessIdentity& told, const Environment& environment) {
  if (told.source == ProcessSource::kTfConfig) {
    return variable_of(environment, "TF_CONFIG").text();
  }
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.source != told.source) continue;
    return variable_of(environment, launcher.rank).text() + ", " +
           variable_of(environment, launcher.size).text();
  }
  return {};
}

std::string numbered(int rank, int size) {
  return "process " + std::to_string(rank) + " of " + std::to_string(size);
}

[[noreturn]] void fail_in_group(const ProcessIdentity& told, const Environment& environment,
                                const std::string& in_group, CallSite site) {
  const std::string variables = variables_behind(told, environment);
  const std::string processes = std::to_string(told.numbers.size);
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             to_string(told) + ", is " + in_group + " of MPI" +
                                 (variables.empty() ? std::string() : ": " + variables),
                             "start the program with `mpirun -n " + processes +
                                 "` or `srun --mpi=pmix -n " + processes +
                                 "`; torchrun and a plain start bring no MPI",
                             site);
}

}  // namespace

std::string to_string(const ProcessNumbers& numbers) {
  return numbered(numbers.rank, numbers.size) + ", local " + std::to_string(numbers.local_rank);
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
  for (const Launcher& launcher : kLaunchers) {
    if (const auto told = told_by(launcher, environment, site)) return *told;
  }
  return {};
}

void require_same_process(const Environment& environment, int rank, int size,
                          const std::optional<ProcessNumbers>& given, CallSite site) {
  const ProcessIdentity told = resolve(environment, given, site);
  const bool alone = told.source == ProcessSource::kAlone;
  if (!alone && (told.numbers.rank != rank || told.numbers.size != size)) {
    fail_in_group(told, environment, numbered(rank, size), site);
  }
  const Variable pmix = variable_of(environment, "PMIX_RANK");
  if (pmix.is_set() && pmix.number(site) != rank) {
    pmix.fail("this is " + numbered(rank, size) + " of MPI",
              "the variable belongs to a second launcher: start the program with `mpirun` or `srun "
              "--mpi=pmix` alone",
              site);
  }
}

}  // namespace belfry
