// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/any_tensor.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"

#include <span>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Throws StructureMismatchError naming the first leaf in which `other` differs from the first.
[[noreturn]] void throw_structures_differ(int replica, const std::vector<LeafDescription>& first,
                                          const std::vector<LeafDescription>& other, CallSite site,
                                          int first_replica = 0);

/// Throws InvalidArgumentError (kInvalidArgument) unless a value is of as many replicas as the
/// strategy has, whoever of them take part. Verbs ask before they do anything.
void require_replicas(const StrategyCore& core, int replicas, CallSite site);

/// Throws UnsupportedError unless a value with tensors has a component on every replica.
void require_all_replicas(StrategyCore& core, int components, CallSite site);

/// Reduces as the strategy does. Throws: what that throws, with this call site where it has none.
void reduce_at(CallSite site, StrategyCore& core, const ReduceCall& call);
/// The same for a left fold of all parts into the first (see CrossDeviceOps::fold).
void fold_at(CallSite site, StrategyCore& core, ReduceOp op,
             std::span<const std::vector<LeafRef>> parts);

/// Whether two lists of leaves agree in number, counts and types.
bool same_leaves(const std::vector<LeafRef>& a, const std::vector<LeafRef>& b);

/// The reduction of a value over the replicas that have a component; on all of them.
template <class T>
Mirrored<T> reduce_value(StrategyCore& core, ReduceOp op, const PerReplica<T>& value,
                         CallSite site) {
  if (has_tensor<T>()) require_all_replicas(core, value.size(), site);
  const Participants& present = value.present();
  ReplicaArray<T> components(present.count());
  std::vector<std::vector<LeafRef>> parts;
  parts.reserve(static_cast<std::size_t>(present.count()));
  for (const T& component : value) components.emplace_back(component);
  for (int i = 0; i < present.count(); ++i) {
    parts.push_back(leaves_of(components[i]));
    const T& first = *value.begin();
    const T& own = *(value.begin() + i);
    if (!same_tree(first, own) || !same_leaves(parts.front(), parts.back())) {
      throw_structures_differ(present.id(i), describe_leaves(first), describe_leaves(own), site,
                              present.id(0));
    }
  }
  reduce_at(site, core, {op, parts, has_tensor<T>(), present});
  if constexpr (!has_tensor<T>()) {
    ReplicaArray<T> shared(1);
    shared.emplace_back(std::move(components[0]));
    return Mirrored<T>(value.size(), std::move(shared));
  } else {
    if (present.is_all()) return Mirrored<T>(value.size(), std::move(components));
    return spread(core, components, present);
  }
}

}  // namespace belfry::detail
