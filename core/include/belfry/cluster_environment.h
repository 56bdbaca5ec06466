// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/compiler.h"
#include "belfry/detail/prints.h"
#include "belfry/device_spec.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

/// A task of a cluster: the process with number `index` of the job `job`.
struct ClusterTask {
  std::string job;  ///< For example `worker`.
  int index = 0;    ///< The place among the addresses of the job, from 0.

  bool operator==(const ClusterTask&) const = default;
};

/// `worker 1`.
std::string to_string(const ClusterTask& task);

/// A job of a cluster: the addresses of its tasks, in the order of their numbers.
struct ClusterJob {
  std::string name;                    ///< For example `worker`.
  std::vector<std::string> addresses;  ///< For example `host1:2222`.

  bool operator==(const ClusterJob&) const = default;
};

/// `worker [host1:2222, host2:2222]`.
std::string to_string(const ClusterJob& job);

/// The jobs of a cluster, in the order of the source. No function sorts jobs or addresses: their
/// order is the order of ranks.
struct ClusterSpec {
  std::vector<ClusterJob> jobs;  ///< With names that differ.

  /// The job `name`, or null.
  const ClusterJob* find(std::string_view name) const;
  /// The number of tasks of all jobs.
  int num_tasks() const;
  /// The address of `task`.
  /// Throws: InvalidArgumentError (kInvalidArgument) if the cluster has no such task.
  const std::string& address(const ClusterTask& task, CallSite site = CallSite::here()) const;

  bool operator==(const ClusterSpec&) const = default;
};

/// `ps [host0:2222], worker [host1:2222, host2:2222]`; `no jobs`.
std::string to_string(const ClusterSpec& cluster);

/// `layer://address`; the address alone if `layer` is empty.
std::string with_layer(std::string_view layer, std::string_view address);

/// How many of `devices` have the job and number of `task`, by type. Types without devices are left
/// out.
std::map<std::string, int> devices_of_task(const std::vector<DeviceSpec>& devices,
                                           const ClusterTask& task);

/// The variables of an environment, by name. The library reads the maps that a program passes, and
/// changes none. In one place it reads the environment of the process: an mpi::Group compares the
/// variables of launchers with the numbers of MPI (SEM-204), unless
/// mpi::GroupOptions::check_launcher is false or a map is given.
using Environment = std::map<std::string, std::string>;

/// The variables in a list of `NAME=value`, such as `environ` of POSIX: null ends the list. The
/// first entry of a name counts, as for `getenv`; entries without `=` are left out.
Environment environment_from(const char* const* entries);

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

/// The contents of the variable TF_CONFIG: the place of a TensorFlow program in a cluster
/// (SEM-202). Members that the text lacks are empty.
struct TfConfig {
  ClusterSpec cluster;                        ///< The member `cluster`.
  std::optional<std::string> job;             ///< `task.type`.
  std::optional<int> index;                   ///< `task.index`.
  std::string rpc_layer;                      ///< For example `grpc`.
  std::optional<std::string> session_master;  ///< Replaces the answer of `master`.

  /// Reads JSON text. Further members are ignored, and `null` counts as missing.
  /// Throws: InvalidArgumentError (kInvalidArgument) with TF_CONFIG, the text and the member at
  /// fault.
  static TfConfig parse(std::string_view text, CallSite site = CallSite::here());

  /// The address at which TensorFlow's programs meet, behind `rpc_layer`: the address of the task,
  /// or `session_master`. Empty if the cluster has fewer than two tasks. To ask about a different
  /// task or layer, change the members.
  /// Throws: InvalidArgumentError (kInvalidArgument) if the cluster lacks the task, or no task is
  /// given.
  std::string master(CallSite site = CallSite::here()) const;

  bool operator==(const TfConfig&) const = default;
};

/// The task and the cluster: `worker 1 of ps [host0:2222], worker [host1:2222, host2:2222]`.
std::string to_string(const TfConfig& config);

/// The hosts of a list as Slurm writes lists, in the order of the list: `n[08-10,12],m5` is n08,
/// n09, n10, n12, m5 (SEM-203). A name may have several brackets; the last bracket counts fastest.
/// Throws: InvalidArgumentError (kInvalidArgument) with the column at fault, or if the list has
/// more than 100,000 hosts.
std::vector<std::string> slurm_hosts(std::string_view list, CallSite site = CallSite::here());

/// The numbers of tasks of the hosts, as Slurm writes such numbers: `3(x2),2,1` is 3, 3, 2, 1
/// (SEM-203).
/// Throws: as slurm_hosts.
std::vector<int> slurm_tasks_per_node(std::string_view list, CallSite site = CallSite::here());

/// The cluster of a Slurm step, from SLURM_STEP_NODELIST, SLURM_STEP_TASKS_PER_NODE and
/// SLURM_STEP_NUM_TASKS (SEM-203). The step's tasks are given to `jobs`, pairs of a name and a
/// number of tasks, in order; without jobs all tasks are of the job `worker`. The address of a task
/// is the host with port `first_port` + the task's number on the host. The step has the
/// distribution by blocks, the default of Slurm.
/// Throws: InvalidArgumentError (kInvalidArgument) if a variable is not set, cannot be read or
/// disagrees with `jobs` or with a second variable; for ports above 65535.
ClusterSpec slurm_cluster(const Environment& environment,
                          const std::vector<std::pair<std::string, int>>& jobs = {},
                          int first_port = 8888, CallSite site = CallSite::here());

}  // namespace belfry
