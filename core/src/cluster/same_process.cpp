// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The numbers of MPI beside the numbers of launchers (SEM-204).
#include "belfry/cluster_environment.h"
#include "belfry/error.h"
#include "cluster/launcher.h"
#include "cluster/tf_config_process.h"
#include "cluster/variable.h"

#include <optional>
#include <string>
#include <string_view>

namespace belfry {
namespace {

using detail::Launcher;
using detail::Variable;

// A process of MPI with its environment.
struct Process {
  const Environment& environment;
  int rank;
  int size;
  CallSite site;

  Variable variable(std::string_view name) const { return detail::variable_of(environment, name); }
  std::string text() const {
    return "process " + std::to_string(rank) + " of " + std::to_string(size) + " of MPI";
  }
};

std::optional<int> number_of(const Variable& variable, CallSite site) {
  if (!variable.is_set()) return std::nullopt;
  return variable.number(site);
}

// `told`: the process, as a source tells; `size`: the number of processes.
[[noreturn]] void fail(const Process& process, const std::string& told,
                       const std::string& variables, std::optional<int> size) {
  const std::string count = size ? std::to_string(*size) : "N";
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      told + ", is " + process.text() + (variables.empty() ? std::string() : ": " + variables),
      "start the program with `mpirun -n " + count +
          "`, of the MPI of the program, or with `srun --mpi=pmix -n " + count +
          "`; torchrun, TF_CONFIG and a plain start bring no MPI; "
          "mpi::GroupOptions::check_launcher = false is for processes without a common job",
      process.site);
}

void require_same(const Process& process, const ProcessIdentity& told,
                  const std::string& variables) {
  if (told.numbers.rank == process.rank && told.numbers.size == process.size) return;
  fail(process, to_string(told), variables, told.numbers.size);
}

// Whether variables of a launcher are set, and tell the process. A variable may lack.
bool tell_same(const Process& process, const Variable& rank, const Variable& size,
               const std::string& launcher) {
  const std::optional<int> told_rank = number_of(rank, process.site);
  const std::optional<int> told_size = number_of(size, process.site);
  if (!told_rank && !told_size) return false;
  if (told_rank.value_or(process.rank) == process.rank &&
      told_size.value_or(process.size) == process.size) {
    return true;
  }
  const std::string told = told_rank ? "process " + std::to_string(*told_rank) : "a process";
  const std::string of = told_size ? " of " + std::to_string(*told_size) : "";
  fail(process, told + of + ", told by " + launcher, rank.text() + ", " + size.text(), told_size);
}

// A rank counts with a size or a local rank: alone, the name may mean anything.
bool tells_same(const Process& process, const Launcher& launcher) {
  const Variable size = process.variable(launcher.size);
  const bool counts = size.is_set() || process.variable(launcher.local_rank).is_set();
  const bool is_marked = launcher.mark.empty() || process.variable(launcher.mark).is_set();
  return counts && is_marked &&
         tell_same(process, process.variable(launcher.rank), size, to_string(launcher.source));
}

void require_same_pmix_rank(const Process& process) {
  const Variable pmix = process.variable("PMIX_RANK");
  if (number_of(pmix, process.site).value_or(process.rank) == process.rank) return;
  pmix.fail("this is " + process.text(),
            "the variable belongs to a second launcher: start the program with `mpirun` or `srun "
            "--mpi=pmix` alone",
            process.site);
}

void require_task(const Process& process) {
  const int processes = detail::processes_without_task(process.environment, process.site);
  if (processes <= 1 || processes == process.size) return;
  fail(process, "a process of " + std::to_string(processes) + " without a task, told by TF_CONFIG",
       process.variable("TF_CONFIG").text(), processes);
}

}  // namespace

// Sources in the order of SEM-200. The first source that agrees about several processes has started
// the processes: later sources have started the launcher. A lone process may have started a later
// source: torchrun in a step of Slurm.
void require_same_process(const Environment& environment, int rank, int size,
                          const std::optional<ProcessNumbers>& given, CallSite site) {
  const Process process{environment, rank, size, site};
  const auto told =
      given ? resolve(environment, given, site) : detail::told_by_tf_config(environment, site);
  if (told) require_same(process, *told, given ? "" : process.variable("TF_CONFIG").text());
  bool is_started = told && (given || size > 1);
  const auto& [open_mpi, slurm, torchrun] = detail::kLaunchers;
  is_started = is_started || tells_same(process, open_mpi);
  // Of MPICH's mpiexec and of srun --mpi=pmi2; PMIX_RANK may then be that of a step around mpiexec.
  if (!is_started &&
      tell_same(process, process.variable("PMI_RANK"), process.variable("PMI_SIZE"), "PMI") &&
      size > 1) {
    return;
  }
  for (const Launcher& launcher : {slurm, torchrun}) {
    is_started = is_started || (tells_same(process, launcher) && size > 1);
  }
  require_same_pmix_rank(process);
  if (!is_started) require_task(process);
}

}  // namespace belfry
