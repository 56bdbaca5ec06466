// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"
#include "belfry/error.h"
#include "cluster/variable.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace belfry {
namespace {

using detail::Variable;
using JobSizes = std::vector<std::pair<std::string, int>>;

const char* const kStartStep = "start the program as a step, with `srun`";

Variable required(const Environment& environment, std::string_view name, CallSite site) {
  const Variable variable = detail::variable_of(environment, name);
  if (!variable.is_set()) variable.fail("needed for the cluster of a step", kStartStep, site);
  return variable;
}

// The list of a variable. An error names the variable.
template <class Read>
auto list_of(const Variable& variable, const Read& read, CallSite site) {
  try {
    return read(variable.value, site);
  } catch (const InvalidArgumentError& error) {
    ErrorReport report = error.report();
    report.summary = std::string(variable.name) + ": " + report.summary;
    throw InvalidArgumentError(std::move(report));
  }
}

// The addresses of the step's tasks, in the order of their numbers.
std::vector<std::string> addresses_of(const Environment& environment, int first_port,
                                      CallSite site) {
  const Variable nodes = required(environment, "SLURM_STEP_NODELIST", site);
  const Variable per_node = required(environment, "SLURM_STEP_TASKS_PER_NODE", site);
  const Variable tasks = required(environment, "SLURM_STEP_NUM_TASKS", site);
  const std::vector<std::string> hosts = list_of(nodes, slurm_hosts, site);
  const std::vector<int> numbers = list_of(per_node, slurm_tasks_per_node, site);
  if (hosts.size() != numbers.size()) {
    per_node.fail("numbers of " + std::to_string(numbers.size()) + " hosts; " + nodes.text(),
                  kStartStep, site);
  }
  const std::int64_t total = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
  if (tasks.number(site) != total) {
    tasks.fail("the hosts have " + std::to_string(total) + " tasks; " + per_node.text(), kStartStep,
               site);
  }
  constexpr std::int64_t kMostTasks = 1'000'000;
  if (total > kMostTasks) {
    tasks.fail("more than " + std::to_string(kMostTasks) + " tasks", kStartStep, site);
  }
  constexpr int kLastPort = 65535;
  if (first_port < 1 || first_port > kLastPort - std::ranges::max(numbers) + 1) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "port " + std::to_string(first_port) + " is the first of " +
                                   std::to_string(std::ranges::max(numbers)) + " on one host",
                               "ports are from 1 to 65535", site);
  }
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    for (int local = 0; local < numbers[i]; ++local) {
      addresses.push_back(hosts[i] + ":" + std::to_string(first_port + local));
    }
  }
  return addresses;
}

void require_sizes(const JobSizes& jobs, std::size_t tasks, CallSite site) {
  std::int64_t total = 0;
  bool fits = true;
  ClusterSpec named;
  for (const auto& [name, size] : jobs) {
    fits = fits && size > 0 && named.find(name) == nullptr;
    total += size;
    named.jobs.push_back({.name = name, .addresses = {}});
  }
  if (fits && std::cmp_equal(total, tasks)) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "jobs with " + std::to_string(total) + " tasks in a step of " + std::to_string(tasks),
      "names of jobs differ, and each task of the step has one job", site);
}

}  // namespace

ClusterSpec slurm_cluster(const Environment& environment, const JobSizes& jobs, int first_port,
                          CallSite site) {
  const std::vector<std::string> addresses = addresses_of(environment, first_port, site);
  if (jobs.empty()) return {.jobs = {{.name = "worker", .addresses = addresses}}};
  require_sizes(jobs, addresses.size(), site);
  ClusterSpec cluster;
  auto next = addresses.begin();
  for (const auto& [name, size] : jobs) {
    cluster.jobs.push_back({.name = name, .addresses = {next, next + size}});
    next += size;
  }
  return cluster;
}

}  // namespace belfry
