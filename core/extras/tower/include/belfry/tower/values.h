// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component.h"
#include "belfry/distributed_values.h"

#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>

/// The values of `belfry/tower.h`.
namespace belfry::tower {

template <class T>
using PerDevice = belfry::PerReplica<T>;
template <class T>
using MirroredValue = belfry::Mirrored<T>;

/// A component for each tower: of a PerDevice, or of a MirroredValue, with equal components. All
/// functions but `reduce` treat the value as a PerDevice.
template <class T>
class DistributedValue : public PerDevice<T> {
 public:
  /// The components of each tower.
  DistributedValue(PerDevice<T> values) : PerDevice<T>(std::move(values)) {}  // NOLINT: implicit.
  DistributedValue(std::initializer_list<T> components) : PerDevice<T>(components) {}
  /// The value of every tower.
  DistributedValue(const MirroredValue<T>& value)  // NOLINT: implicit.
      : PerDevice<T>(components_of(value)), mirrored_(value) {}

  /// The MirroredValue, for a value made of a MirroredValue; else nothing.
  const std::optional<MirroredValue<T>>& mirrored() const { return mirrored_; }

 private:
  static belfry::detail::ReplicaArray<T> components_of(const MirroredValue<T>& value) {
    belfry::detail::ReplicaArray<T> components(value.size());
    for (int tower = 0; tower < value.size(); ++tower) components.emplace_back(value[tower]);
    return components;
  }

  std::optional<MirroredValue<T>> mirrored_;
};

/// The components that `for_each_tower` hands out: any object. Reductions take a Nest.
template <class T>
concept Distributable =
    std::is_object_v<T> && std::is_same_v<T, std::decay_t<T>> && std::is_destructible_v<T>;

}  // namespace belfry::tower

namespace belfry::detail {

template <class T>
struct IsDistributed<tower::DistributedValue<T>> : std::true_type {};
template <class T>
struct IsPerReplica<tower::DistributedValue<T>> : std::true_type {};
template <class T>
struct Component<tower::DistributedValue<T>> : Component<PerReplica<T>> {};

}  // namespace belfry::detail
