// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/strategy/completion.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/reduction.h"
#include "belfry/tower/call.h"
#include "belfry/tower/values.h"

#include <utility>
#include <vector>

/// The cross-tower verbs of `belfry/tower.h`. Without a destination, the result is on the devices
/// of all towers.
namespace belfry::tower {

template <Nest T, class... Where>
auto reduce(CrossTower at, Method method, const PerReplica<T>& value, const Where&... destination) {
  static_assert(sizeof...(Where) <= 1, "one destination, or an axis");
  return at.cross.reduce(method.op, value, destination..., at.site);
}
/// Throws: InvalidArgumentError (kSumOfMirrored) for any method but MEAN.
template <class T, class... Where>
auto reduce(CrossTower at, Method method, const Mirrored<T>& value, const Where&... destination) {
  static_assert(sizeof...(Where) <= 1, "one destination");
  detail::require_mean_of_mirrored(method.op, at.site);
  return at.cross.reduce(ReduceOp::kMean, value, destination..., at.site);
}
/// The reduction of the PerDevice, or of the MirroredValue.
template <Nest T, class... Where>
auto reduce(CrossTower at, Method method, const DistributedValue<T>& value,
            const Where&... destination) {
  if (value.mirrored()) detail::require_mean_of_mirrored(method.op, at.site);
  const PerDevice<T>& components = value;
  return value.mirrored() ? reduce(at, ReduceOp::kMean, *value.mirrored(), destination...)
                          : reduce(at, method, components, destination...);
}
/// The same by a reduction of the user (SEM-38); no destination.
template <class R, class T>
  requires belfry::Reduction<R, T>
auto reduce(CrossTower at, const R& reduction, const PerReplica<T>& value) {
  return at.cross.reduce(reduction, value, at.site);
}
template <class V, class... Where>
auto reduce_to(CrossTower at, Method method, const V& value, const Where&... destination) {
  return reduce(at, method, value, destination...);
}
/// `values`: PerReplicas, pairs of a PerReplica and its destination, or one vector of such pairs.
template <class... V>
auto batch_reduce(CrossTower at, Method method, const V&... values) {
  return detail::calls::BatchReduce::at(at.cross, at.site, method.op, values...);
}
template <class... V>
auto batch_reduce_to(CrossTower at, Method method, const V&... values) {
  return batch_reduce(at, method, values...);
}
template <class T>
auto broadcast(CrossTower at, const T& value) {
  return at.cross.broadcast(value, at.site);
}
/// An empty list of destinations stands for the devices of all towers.
template <class T, class D>
auto broadcast(CrossTower at, const T& value, const D& destination) {
  if constexpr (detail::IsVector<D>::value && belfry::Destination<D>) {
    if (destination.empty()) return at.cross.broadcast(value, at.cross.devices(), at.site);
  }
  return at.cross.broadcast(value, destination, at.site);
}

template <class V, class... More>
auto fetch(CrossTower at, const V& value, const More&... destination_and_fn) {
  static_assert(sizeof...(More) <= 2, "a destination and a function");
  return at.cross.fetch(value, destination_and_fn..., at.site);
}
/// The value of a variable, the reduction of the components if the variable is tower-local.
template <class T>
T read_var(CrossTower at, const VariableHandle<T>& variable) {
  return at.cross.strategy().read(variable, at.site);
}
template <class V>
Completion group(CrossTower at, const V& value) {
  return at.cross.group(value, at.site);
}
template <class V>
auto unwrap(CrossTower at, const V& value) {
  return at.cross.local_results(value, at.site);
}
template <class V>
auto local_results(CrossTower at, const V& value) {
  return at.cross.local_results(value, at.site);
}
template <class V>
auto experimental_local_results(CrossTower at, const V& value) {
  return at.cross.local_results(value, at.site);
}

template <class X, class F, class... Args>
decltype(auto) map(CrossTower at, const std::vector<X>& map_over, const F& fn,
                   const Args&... args) {
  return belfry::detail::calls::Map::at(at.cross, at.site, map_over, fn, args...);
}
template <class V, class F, class... Args>
decltype(auto) update(CrossTower at, const V& variable, const F& fn, const Args&... args) {
  return belfry::detail::calls::Update::at(at.cross, at.site, variable, fn, args...);
}
template <class F, class... Args>
decltype(auto) update_non_slot(CrossTower at, const std::vector<DeviceSpec>& colocate_with,
                               const F& fn, const Args&... args) {
  return belfry::detail::calls::UpdateNonSlot::at(at.cross, at.site, colocate_with, fn, args...);
}

}  // namespace belfry::tower
