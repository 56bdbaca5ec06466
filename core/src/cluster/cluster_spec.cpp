// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"
#include "belfry/error.h"

#include <algorithm>
#include <utility>

namespace belfry {

std::string to_string(const ClusterTask& task) {
  return task.job + " " + std::to_string(task.index);
}

std::string to_string(const ClusterJob& job) {
  std::string text = job.name + " [";
  const char* gap = "";
  for (const std::string& address : job.addresses) {
    text += gap + address;
    gap = ", ";
  }
  return text + "]";
}

std::string to_string(const ClusterSpec& cluster) {
  std::string text;
  for (const ClusterJob& job : cluster.jobs) text += (text.empty() ? "" : ", ") + to_string(job);
  return text.empty() ? "no jobs" : text;
}

const ClusterJob* ClusterSpec::find(std::string_view name) const {
  const auto found = std::ranges::find(jobs, name, &ClusterJob::name);
  return found == jobs.end() ? nullptr : &*found;
}

int ClusterSpec::num_tasks() const {
  std::size_t tasks = 0;
  for (const ClusterJob& job : jobs) tasks += job.addresses.size();
  return static_cast<int>(tasks);
}

const std::string& ClusterSpec::address(const ClusterTask& task, CallSite site) const {
  const ClusterJob* job = find(task.job);
  if (job == nullptr || task.index < 0 ||
      std::cmp_greater_equal(task.index, job->addresses.size())) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "the cluster has no task " + to_string(task) + ": " + to_string(*this),
        "tasks of a job are numbered from 0", site);
  }
  return job->addresses[static_cast<std::size_t>(task.index)];
}

std::string with_layer(std::string_view layer, std::string_view address) {
  std::string text(layer);
  if (!layer.empty()) text += "://";
  return text.append(address);
}

std::map<std::string, int> devices_of_task(const std::vector<DeviceSpec>& devices,
                                           const ClusterTask& task) {
  std::map<std::string, int> numbers;
  for (const DeviceSpec& device : devices) {
    if (device.job == task.job && device.task == task.index) ++numbers[device.type];
  }
  return numbers;
}

}  // namespace belfry
