// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Whether values of a type have parts that live on a device.
template <class T>
constexpr bool lives_on_devices() {
  if constexpr (Nest<T>) {
    return has_tensor<T>();
  } else {
    return false;
  }
}

/// Copies the tensors of `value` to `place`: tensors on other devices, and tensors over memory of
/// the program.
template <class T>
void bring_to(T& value, Placement place) {
  if constexpr (lives_on_devices<T>()) {
    for_each_leaf(value, [&](auto& leaf) {
      if constexpr (IsTensor<std::remove_cvref_t<decltype(leaf)>>::value) {
        if (!leaf.empty() && leaf.placement() != place) {
          leaf = leaf.copy_to(place, submitting_site());
        }
        part_from_program(leaf.any());
      }
    });
  }
}

/// A copy of `value` with its tensors on `place`.
template <class T>
T placed_on(const T& value, Placement place) {
  T copy = value;
  bring_to(copy, place);
  return copy;
}

/// Replaces the tensors of `copies[i]` by the tensors of `source`, which the strategy brings to
/// `targets[i]`.
void broadcast_tensors(StrategyCore& core, const std::vector<LeafRef>& source,
                       const std::vector<std::vector<LeafRef>>& copies,
                       const std::vector<Placement>& targets);

/// Copies of `value`, one for each of `targets`, as the strategy broadcasts (SEM-114).
template <class T>
ReplicaArray<T> copies_on(StrategyCore& core, const T& value,
                          const std::vector<Placement>& targets) {
  ReplicaArray<T> copies(static_cast<int>(targets.size()));
  for (std::size_t i = 0; i < targets.size(); ++i) copies.emplace_back(value);
  if constexpr (lives_on_devices<T>()) {
    T source = value;
    std::vector<std::vector<LeafRef>> leaves;
    for (T& copy : copies) leaves.push_back(leaves_of(copy));
    broadcast_tensors(core, leaves_of(source), leaves, targets);
  }
  return copies;
}

/// A Mirrored with a component for each replica of this process, or a single component for all.
template <class T>
Mirrored<T> mirrored_on_own(StrategyCore& core, ReplicaArray<T> components) {
  const int first = components.size() == core.own().count() ? core.first_replica() : 0;
  return Mirrored<T>(core.size(), first, std::move(components));
}

template <class T>
Mirrored<T> mirror(StrategyCore& core, const T& value);

/// A value that the replicas of `present` have, on all replicas of this process.
template <class T>
Mirrored<T> spread(StrategyCore& core, const ReplicaArray<T>& components,
                   const Participants& present) {
  const Participants& own = core.own();
  if (own.count() == 0) return mirror(core, components[0]);
  ReplicaArray<T> all(own.count());
  for (int i = 0; i < own.count(); ++i) {
    const int replica = own.id(i);
    if (present.has(replica))
      all.emplace_back(components[present.position(replica)]);
    else
      all.emplace_back(placed_on(components[0], core.placement(replica)));
  }
  return mirrored_on_own(core, std::move(all));
}

/// A Mirrored by the position of a device in StrategyCore::devices().
template <class T>
struct OnOwnDevices {
  const T& operator[](int position) const { return value[core.first_replica() + position]; }

  const StrategyCore& core;
  const Mirrored<T>& value;
};

/// `value` on every replica: shared if it lives on the host, else copied to each device.
template <class T>
Mirrored<T> mirror(StrategyCore& core, const T& value) {
  if constexpr (lives_on_devices<T>()) {
    std::vector<Placement> targets;
    for (int device : core.devices()) targets.push_back(core.placement_on(device));
    return mirrored_on_own(core, copies_on(core, value, targets));
  } else {
    ReplicaArray<T> shared(1);
    shared.emplace_back(value);
    return Mirrored<T>(core.size(), std::move(shared));
  }
}

/// A value for code on a device: the value itself if already there or on the host.
template <class T>
class LocalValue {
 public:
  LocalValue(const T& value, Placement place) : value_(&value) {
    if constexpr (lives_on_devices<T>()) {
      if (!is_on(value, place)) copy_.emplace(placed_on(value, place));
    }
  }

  const T& get() const { return copy_ ? *copy_ : *value_; }

 private:
  static bool is_on(const T& value, Placement place) {
    bool here = true;
    for_each_leaf(value, [&](const auto& leaf) {
      if constexpr (IsTensor<std::remove_cvref_t<decltype(leaf)>>::value) {
        here &= leaf.empty() || leaf.placement() == place;
      }
    });
    return here;
  }

  const T* value_;
  std::optional<T> copy_;
};

}  // namespace belfry::detail
