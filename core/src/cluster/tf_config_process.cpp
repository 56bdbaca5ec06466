// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/tf_config_process.h"

#include "belfry/cluster_environment.h"
#include "cluster/variable.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace belfry::detail {
namespace {

// The jobs with processes of a group, in the order of ranks.
constexpr std::array<std::string_view, 3> kJobs{"chief", "master", "worker"};

struct Process {
  ClusterTask task;
  std::string_view host;
};

// The part of an address before the port. Colons of an IPv6 address are in brackets.
std::string_view host_of(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  const bool is_port =
      colon != std::string_view::npos && address.find(']', colon) == std::string_view::npos;
  return is_port ? address.substr(0, colon) : address;
}

std::vector<Process> processes_of(const ClusterSpec& cluster) {
  std::vector<Process> processes;
  for (const std::string_view name : kJobs) {
    const ClusterJob* job = cluster.find(name);
    if (job == nullptr) continue;
    int index = 0;
    for (const std::string& address : job->addresses) {
      processes.push_back({.task = {.job = job->name, .index = index}, .host = host_of(address)});
      ++index;
    }
  }
  return processes;
}

// The task of the variable; none if the variable names no task.
std::optional<ClusterTask> task_of(const TfConfig& config, const Variable& variable,
                                   CallSite site) {
  if (!config.job && !config.index) return std::nullopt;
  if (!config.job || !config.index) {
    variable.fail(config.job ? "task has no index" : "task has no type",
                  R"(write both, for example "task": {"type": "worker", "index": 0})", site);
  }
  return ClusterTask{.job = *config.job, .index = *config.index};
}

}  // namespace

std::optional<ProcessIdentity> told_by_tf_config(const Environment& environment, CallSite site) {
  const Variable variable = variable_of(environment, "TF_CONFIG");
  if (!variable.is_set()) return std::nullopt;
  const TfConfig config = TfConfig::parse(variable.value, site);
  const std::optional<ClusterTask> task = task_of(config, variable, site);
  if (config.cluster.jobs.empty() || !task) return std::nullopt;
  if (std::ranges::find(kJobs, task->job) == kJobs.end()) {
    variable.fail("\"" + task->job + "\" is no process of a group",
                  "chief, master and worker are processes of a group; start other tasks without a "
                  "group",
                  site);
  }
  const std::vector<Process> processes = processes_of(config.cluster);
  const auto is_first = [](const Process& process) { return process.task.job != "worker"; };
  if (std::ranges::count_if(processes, is_first) > 1) {
    variable.fail("the cluster has more than one chief or master",
                  "name one of them as chief; the others are workers", site);
  }
  const auto own = std::ranges::find(processes, *task, &Process::task);
  if (own == processes.end()) {
    variable.fail("the cluster has no task " + to_string(*task),
                  "tasks of a job are numbered from 0", site);
  }
  // TF_CONFIG has no local ranks: processes on a host count in the order of their ranks.
  const auto local = std::count_if(
      processes.begin(), own, [&](const Process& process) { return process.host == own->host; });
  return ProcessIdentity{.numbers = {.rank = static_cast<int>(own - processes.begin()),
                                     .size = static_cast<int>(processes.size()),
                                     .local_rank = static_cast<int>(local)},
                         .source = ProcessSource::kTfConfig,
                         .task = task,
                         .cluster = config.cluster};
}

int processes_without_task(const Environment& environment, CallSite site) {
  const Variable variable = variable_of(environment, "TF_CONFIG");
  if (!variable.is_set()) return 0;
  const TfConfig config = TfConfig::parse(variable.value, site);
  if (task_of(config, variable, site)) return 0;
  return static_cast<int>(processes_of(config.cluster).size());
}

}  // namespace belfry::detail
