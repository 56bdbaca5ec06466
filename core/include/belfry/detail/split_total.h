// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/changed_components.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/mirrored_check.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/variable_state.h"

#include <utility>
#include <vector>

namespace belfry::detail {

/// Makes the leaves of a total the share of component `component` among `components`. A product
/// ignores `split`: component 0 gets the total, the others 1. Order: blocks the host for tensors
/// that are divided. Throws: InvalidArgumentError (kDType) for bool.
void take_share(const std::vector<LeafRef>& leaves, SumSplit split, int component, int components,
                bool is_product, CallSite site);

/// Whether a restored value is split into shares: of a replica-local sum or product (SEM-254).
inline bool has_shares(const VariableInfo& info) {
  return info.synchronization == Synchronization::kOnRead &&
         (info.aggregation == Aggregation::kSum || info.aggregation == Aggregation::kProd);
}

/// Throws: InvalidArgumentError (kInvalidArgument) for the number of no SumSplit.
void require_split(SumSplit split, CallSite site);

/// The same, and compares the total between processes if the backends compare mirrored values.
/// Order: then blocks the host until all processes have called. Throws: also
/// VariableMismatchError (kMirroredDiverged) in every process if the totals differ.
template <Nest T>
void require_total(StrategyCore& core, const VariableInfo& info, const T& total, SumSplit split,
                   CallSite site) {
  require_split(split, site);
  if (!core.backend().verifies_mirrored()) return;
  compare_between_processes(core, total, {info, "assign_total", true}, site);
}

/// Throws: InvalidArgumentError (kInvalidArgument) unless the variable is read as a sum.
void require_sum(const VariableInfo& info, CallSite site);

/// The number of components of a variable, in all processes.
inline int components_of_all(const StrategyCore& core, const VariableInfo& info) {
  if (info.homes != nullptr) return info.homes->count();
  return core.own().is_all() ? info.places.size() : core.size();
}

/// The number of a component among the components of all processes: of the component of replica
/// `replica`, or of component `replica` without several processes.
inline int number_of_component(const VariableInfo& info, int replica) {
  return info.homes == nullptr ? replica : info.homes->position(replica);
}

/// `value` for each component, on its device.
template <class T>
ReplicaArray<T> value_for_each(StrategyCore& core, const VariableInfo& info, T value) {
  ReplicaArray<T> values(info.places.size());
  for (int device : info.places.devices) {
    const bool is_last = values.size() + 1 == info.places.size();
    T& component = values.emplace_back(is_last ? std::move(value) : value);
    bring_to(component, core.placement_on(device));
  }
  return values;
}

/// The share of the component of a replica in `total`.
template <Nest T>
T share_of_total(const StrategyCore& core, const VariableInfo& info, T total, SumSplit split,
                 int replica, CallSite site) {
  take_share(leaves_of(total), split, number_of_component(info, replica),
             components_of_all(core, info), info.aggregation == Aggregation::kProd, site);
  return total;
}

/// The share of each component in `total`, on its device.
template <Nest T>
ReplicaArray<T> split_total(StrategyCore& core, const VariableInfo& info, T total, SumSplit split,
                            CallSite site) {
  ReplicaArray<T> shares = value_for_each(core, info, std::move(total));
  for (int i = 0; i < shares.size(); ++i) {
    take_share(leaves_of(shares[i]), split, number_of_component(info, info.first_replica + i),
               components_of_all(core, info), info.aggregation == Aggregation::kProd, site);
  }
  return shares;
}

/// Replaces all components; `site` is the changing call. `value_of` as in new_components_message.
/// Order: blocks the host if some process listens. Throws: as tell_listeners_components.
template <class T, class F>
void put_components(StrategyCore& core, VariableState<T>& state, ReplicaArray<T> values,
                    CallSite site, const F& value_of) {
  Replacement<T> next(core, state.info, std::move(values), site);
  tell_listeners_components<T>(core, state.info, site, value_of);
  next.put(state);
}

}  // namespace belfry::detail
