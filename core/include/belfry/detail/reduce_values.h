// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/any_tensor.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"

#include <utility>
#include <vector>

namespace belfry::detail {

/// Throws StructureMismatchError naming the first leaf in which `other` differs from replica 0.
[[noreturn]] void throw_structures_differ(int replica, const std::vector<LeafDescription>& first,
                                          const std::vector<LeafDescription>& other, CallSite site);

/// Throws UnsupportedError unless a value with tensors has a component on every replica.
void require_all_replicas(StrategyCore& core, int components, CallSite site);

/// Whether two lists of leaves agree in number, counts and types.
bool same_leaves(const std::vector<LeafRef>& a, const std::vector<LeafRef>& b);

/// The reduction of a value with one component for each replica.
template <class T>
Mirrored<T> reduce_value(StrategyCore& core, ReduceOp op, const PerReplica<T>& value,
                         CallSite site) {
  if (has_tensor<T>()) require_all_replicas(core, value.size(), site);
  ReplicaArray<T> components(value.size());
  std::vector<std::vector<LeafRef>> parts;
  parts.reserve(static_cast<std::size_t>(value.size()));
  for (const T& component : value) components.emplace_back(component);
  for (int replica = 0; replica < value.size(); ++replica) {
    parts.push_back(leaves_of(components[replica]));
    if (!same_tree(value[0], value[replica]) || !same_leaves(parts.front(), parts.back())) {
      throw_structures_differ(replica, describe_leaves(value[0]), describe_leaves(value[replica]),
                              site);
    }
  }
  core.ops().all_reduce(op, parts, has_tensor<T>());
  if constexpr (has_tensor<T>()) {
    return Mirrored<T>(value.size(), std::move(components));
  } else {
    ReplicaArray<T> shared(1);
    shared.emplace_back(std::move(components[0]));
    return Mirrored<T>(value.size(), std::move(shared));
  }
}

/// All rows of `parts`, in order, on one device. Throws: StructureMismatchError.
AnyTensor concatenate_rows(const std::vector<AnyTensor>& parts, Placement target, CallSite site);

}  // namespace belfry::detail
