// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/reduce_values.h"

#include <utility>
#include <vector>

namespace belfry::detail {

enum class HostReduction {
  kDone,      ///< The values of this process are the result.
  kRefused,   ///< Values and elements of tensors have to be gathered.
  kNotTried,  ///< Nothing was exchanged: tensors stay on their devices if possible.
};

/// Reduces the leaves of all requests in place, as all_reduce does on hosts: one process reduces
/// the messages of all, and every process takes the result. `requests` are those of the replicas of
/// this process in `present`. If processes differ in kNotTried, the gather of one for a reduction
/// meets the exchange of the other, and both gather once more.
/// Order: blocks the host until all processes have called, unless nothing is exchanged.
/// Throws: as exchange_to_reduce.
HostReduction reduce_by_hosts(StrategyCore& core, const char* what, CallSite site,
                              std::vector<AllReduceRequest>& requests, const Participants& present);

/// The reduction over the replicas of several processes. Throws: as reduce_value and
/// gather_components_to_reduce.
template <class T>
Mirrored<T> reduce_over_processes(StrategyCore& core, ReduceOp op, const PerReplica<T>& value,
                                  CallSite site) {
  const auto reduce = [&](const PerReplica<T>& all) { return reduce_value(core, op, all, site); };
  if constexpr (!is_sent<T>()) {
    return reduce(gather_components_of_processes(core, "reduce", value, site));
  } else {
    std::vector<int> own;
    for (int i = 0; i < core.own().count(); ++i) {
      if (value.has(core.own().id(i))) own.push_back(core.own().id(i));
    }
    ReplicaArray<T> components(static_cast<int>(own.size()));
    std::vector<AllReduceRequest> requests;
    requests.reserve(own.size());
    for (const int replica : own) {
      T& component = components.emplace_back(value[replica]);
      requests.emplace_back(kAllReduceType<T>, MergePlace(site), op, component);
    }
    const Participants present(core.size(), std::move(own));
    switch (reduce_by_hosts(core, "reduce", site, requests, present)) {
      case HostReduction::kNotTried:
        return reduce(gather_components_to_reduce(core, "reduce", value, site, true));
      case HostReduction::kRefused:
        return reduce(gather_components_to_reduce(core, "reduce", value, site, false));
      case HostReduction::kDone:
        break;
    }
    if constexpr (has_tensor<T>()) {
      return spread(core, components, present);
    } else {
      return mirror(core, components[0]);
    }
  }
}

/// The reduction over the replicas of all processes; of one process, reduce_value.
template <class T>
Mirrored<T> reduce_everywhere(StrategyCore& core, ReduceOp op, const PerReplica<T>& value,
                              CallSite site) {
  if (core.members().is_alone()) [[likely]] {
    return reduce_value(core, op, value, site);
  }
  return reduce_over_processes(core, op, value, site);
}

}  // namespace belfry::detail
