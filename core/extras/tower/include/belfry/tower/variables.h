// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/destination.h"
#include "belfry/strategy.h"
#include "belfry/tower/call.h"
#include "belfry/variable.h"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Variables of `belfry/tower.h`, and scopes of variables: an object that ends with its block, or a
/// function of the block. Scopes of variables take a strategy or the context of the function.
namespace belfry::tower {

template <class T>
using TowerLocalVariable = belfry::ReplicaLocalVariable<T>;
using VariableGetter = belfry::VariableCreator;

/// Makes variables tower-local, with this reduction; variables of a requested kind keep the kind.
class ReductionVariableGetter : public VariableGetter {
 public:
  /// Throws: InvalidArgumentError (kInvalidArgument) for a name that is no reduction.
  explicit ReductionVariableGetter(Method method);
};

/// Gives variables the devices of a variable, or some devices of the strategy, unless an
/// inner scope decides.
class ColocatedVariableGetter : public VariableGetter {
 public:
  /// Throws: InvalidArgumentError (kVariableEmpty, kNoDevices).
  template <class T>
  explicit ColocatedVariableGetter(const VariableHandle<T>& beside,
                                   CallSite site = CallSite::here())
      : ColocatedVariableGetter(beside.devices(site), site) {}
  explicit ColocatedVariableGetter(std::vector<DeviceSpec> devices,
                                   CallSite site = CallSite::here());
};

inline Scope scope(CrossTower of) { return of.cross.strategy().scope(of.site); }
inline VariableScope tower_local_var_scope(Around of, Method method) {
  return of.strategy.replica_local_variable_scope(method.op, of.site);
}
template <class Place>
VariableScope colocate_vars_with(Around of, const Place& place) {
  return of.strategy.colocate_variables_with(place, of.site);
}
template <class Block>
decltype(auto) tower_local_variable_scope(Around of, Method method, Block&& block) {
  const VariableScope inside = of.strategy.replica_local_variable_scope(method.op, of.site);
  return std::forward<Block>(block)();
}
template <class Place, class Block>
decltype(auto) colocate_variables_with(Around of, const Place& place, Block&& block) {
  const VariableScope inside = of.strategy.colocate_variables_with(place, of.site);
  return std::forward<Block>(block)();
}

template <class T>
bool variable_created_in_scope(Around of, const VariableHandle<T>& variable) {
  return of.strategy.created_in_scope(variable, of.site);
}
template <class... V>
std::vector<DeviceSpec> non_slot_devices(Around of, const V&... variables) {
  return of.strategy.non_slot_devices(variables...);
}

}  // namespace belfry::tower
