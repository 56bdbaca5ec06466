// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cluster_spec.h"
#include "belfry/environment.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

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
