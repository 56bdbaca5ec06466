// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "processes/hosts.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

/// Runs to which one of the three hosts of hosts.h listens.
namespace belfry::testing {

// The value 1 + r of each replica r outside of process `listener`.
inline PerReplica<double> values_without(int listener) {
  std::vector<std::optional<double>> values(6);
  for (int replica = 0; replica < 6; ++replica) {
    if (process_of(replica) != listener) values[static_cast<std::size_t>(replica)] = 1.0 + replica;
  }
  return PerReplica<double>::from(std::move(values));
}

// Calls `merge` in a merge of a run to which process `listener` listens.
inline void merge_without(int listener, Strategy& strategy,
                          const std::function<void(CrossReplicaContext&)>& merge) {
  strategy.run([&](ReplicaContext& replica, double) { replica.merge_call(merge); },
               values_without(listener));
}

}  // namespace belfry::testing
