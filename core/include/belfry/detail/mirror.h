// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

namespace belfry::detail {

/// A copy of `value` whose tensors are on replica `replica`'s device.
template <class T>
T placed_on(StrategyCore& core, const T& value, int replica) {
  T copy = value;
  if constexpr (Nest<T>) {
    if constexpr (has_tensor<T>()) {
      for_each_leaf(copy, [&](auto& leaf) {
        if constexpr (IsTensor<std::remove_cvref_t<decltype(leaf)>>::value) {
          leaf = leaf.copy_to(core.placement(replica));
        }
      });
    }
  }
  return copy;
}

/// A value that the replicas of `present` have, on all of them.
template <class T>
Mirrored<T> spread(StrategyCore& core, const ReplicaArray<T>& components,
                   const Participants& present) {
  ReplicaArray<T> all(core.size());
  for (int replica = 0; replica < core.size(); ++replica) {
    if (present.has(replica))
      all.emplace_back(components[present.position(replica)]);
    else
      all.emplace_back(placed_on(core, components[0], replica));
  }
  return Mirrored<T>(core.size(), std::move(all));
}

/// `value` on every replica: shared when it lives on the host, copied to each device otherwise.
template <class T>
Mirrored<T> mirror(StrategyCore& core, const T& value) {
  constexpr bool kOnDevices = has_tensor<T>();
  ReplicaArray<T> components(kOnDevices ? core.size() : 1);
  const int count = kOnDevices ? core.size() : 1;
  for (int replica = 0; replica < count; ++replica) {
    components.emplace_back(placed_on(core, value, replica));
  }
  return Mirrored<T>(core.size(), std::move(components));
}

}  // namespace belfry::detail
