// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cluster_spec.h"
#include "belfry/detail/prints.h"
#include "belfry/environment.h"

#include <cstdint>
#include <optional>
#include <string>

namespace belfry {

/// The numbers of a process in its job.
struct ProcessNumbers {
  int rank = 0;        ///< From 0 to size - 1.
  int size = 1;        ///< The number of processes.
  int local_rank = 0;  ///< The number among the processes on the host.

  bool operator==(const ProcessNumbers&) const = default;
};

/// `process 2 of 4, local 1`.
std::string to_string(const ProcessNumbers& numbers);

/// The sources of the numbers of a process, in the order of `resolve`.
enum class ProcessSource : std::uint8_t {
  kExplicit,  ///< Numbers that the program gave.
  kTfConfig,  ///< TF_CONFIG.
  kOpenMpi,   ///< Variables of Open MPI's `mpirun`.
  kSlurm,     ///< Variables of a Slurm step, which `srun` sets.
  kTorchrun,  ///< Variables of `torchrun`.
  kAlone,     ///< No source: the process is alone.
};

/// `Open MPI`.
std::string to_string(ProcessSource source);

/// The place of a process in its job, as a source told.
struct ProcessIdentity {
  ProcessNumbers numbers;                        ///< Rank, size and local rank.
  ProcessSource source = ProcessSource::kAlone;  ///< The source of all three numbers.
  std::optional<ClusterTask> task;               ///< Of TF_CONFIG; else none.
  ClusterSpec cluster;                           ///< Of TF_CONFIG; else without jobs.

  bool operator==(const ProcessIdentity&) const = default;
};

/// `process 2 of 4, local 1, told by Open MPI`.
std::string to_string(const ProcessIdentity& identity);

/// The place of this process in its job: `given`, or the first source of ProcessSource with all
/// variables set, or process 0 of 1 (SEM-200). Reads nothing but `environment`, and changes
/// nothing:
///
///     const ProcessIdentity here = resolve(environment_from(environ));
///
/// Throws: InvalidArgumentError (kInvalidArgument) with the variable at fault and its value
/// (SEM-201, SEM-202); without a source, also for a TF_CONFIG of several processes without a task.
ProcessIdentity resolve(const Environment& environment,
                        const std::optional<ProcessNumbers>& given = std::nullopt,
                        CallSite site = CallSite::here());

/// Checks, for groups of processes, that a launcher and MPI agree: compares the rank and size of
/// this process in MPI with `given`, or with the variables of all launchers, of which some may lack
/// (SEM-204).
/// Throws: InvalidArgumentError (kInvalidArgument) with the variables that differ and a way to
/// start the program; the errors of `resolve`.
void require_same_process(const Environment& environment, int rank, int size,
                          const std::optional<ProcessNumbers>& given = std::nullopt,
                          CallSite site = CallSite::here());

namespace detail {
template <>
inline constexpr bool kPrints<ProcessNumbers> = true;
template <>
inline constexpr bool kPrints<ProcessSource> = true;
template <>
inline constexpr bool kPrints<ProcessIdentity> = true;
}  // namespace detail

}  // namespace belfry
