// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/backend.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belfry::testing {

/// The values of a log from a merge to the next merge, or before the first merge. Replicas are
/// between the same two merges at all times, so the log can be cut at merges.
struct MergeValues {
  CallSite site{};          ///< Of the merge.
  std::uint64_t round = 0;  ///< The merge's number in its run; 0 before the first merge.
  std::uint64_t run = 0;    ///< The run's number in its strategy.
  /// A digest for each agent of its host values, arrivals and ends, in the agent's order.
  std::map<AgentId, std::uint64_t> agents{};
  /// A sum: reads for different replicas have no order.
  std::uint64_t host_reads = 0;
  /// Digests of data that work enqueued after this merge was the first to write. Copies write known
  /// data and add nothing.
  std::set<std::uint64_t> first_written{};

  /// Sites are places and not values.
  bool same_values(const MergeValues& other) const {
    return agents == other.agents && host_reads == other.host_reads &&
           first_written == other.first_written;
  }
};

/// The values of one run of a body, on all of its backends.
struct WatchedRun {
  std::vector<MergeValues> parts{};
  std::optional<std::string> thrown{};  ///< The text of the body's exception.
};

/// `options` with full records, checks of users' kernels, and the functions of replica
/// `functions_of`.
sim::Options watched_options(const sim::Options& options, int functions_of);

/// Lets the devices of `backend` finish their work and adds the values of the log to `run`.
/// Throws: InvalidArgumentError (kInvalidArgument) for a log longer than its limit.
void add_log(sim::Backend& backend, WatchedRun& run, CallSite site);

/// The first part in which two runs differ; nothing for equal runs.
std::optional<std::size_t> first_difference(const WatchedRun& a, const WatchedRun& b);

}  // namespace belfry::testing
