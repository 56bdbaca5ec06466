// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/device_spec.h"

#include <map>
#include <string>
#include <string_view>
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

namespace detail {
template <>
inline constexpr bool kPrints<ClusterTask> = true;
template <>
inline constexpr bool kPrints<ClusterJob> = true;
template <>
inline constexpr bool kPrints<ClusterSpec> = true;
}  // namespace detail

}  // namespace belfry
