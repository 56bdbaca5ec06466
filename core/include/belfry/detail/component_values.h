// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/component_work.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/device_spec.h"

#include <utility>
#include <vector>

namespace belfry::detail {

/// Cross-replica, inside an update on a device of the backend.
CurrentContext device_context(StrategyCore& core, CrossReplicaContext& cross, int device);
/// The same on replica `replica`'s device.
CurrentContext update_context(StrategyCore& core, CrossReplicaContext& cross, int replica);

/// The replica whose values are used on a device: the one that runs there, else replica 0.
int replica_beside(const StrategyCore& core, int device);
/// The index in the backend of a device that the strategy runs replicas or keeps variables on.
/// Throws: InvalidArgumentError (kDestination).
int device_on(StrategyCore& core, const DeviceSpec& spec, CallSite site);
/// A component on each of `devices`; where variables live anyway when just these are named.
/// Throws: InvalidArgumentError (kDestination, kNoDevices, kDuplicateDevice).
VariablePlaces places_on(StrategyCore& core, const std::vector<DeviceSpec>& devices, CallSite site);

/// The part of ComponentWork that knows no types: which components have got their values.
class ComponentValues : public ComponentWork {
 public:
  ComponentValues(StrategyCore& core, CrossReplicaContext& cross, const VariableInfo& info,
                  bool ends_equal, CallSite site);

  const VariablePlaces& places() const final { return info_.places; }
  bool ends_equal() const final { return ends_equal_; }
  void compute(int component) final;
  void copy_from(int from) final;
  /// Throws StrategyError (kStrategyContract) unless every component has a value.
  void require_all() const;

 protected:
  ~ComponentValues() = default;

  StrategyCore& core() { return core_; }
  Placement place_of(int component) const;
  std::vector<Placement> places_of(const std::vector<int>& components) const;
  int replica_beside(int component) const;

 private:
  /// With the component's device current.
  virtual void compute_value(int component) = 0;
  virtual void copy_values(int from, const std::vector<int>& to) = 0;
  void require_component(int component) const;

  StrategyCore& core_;
  CrossReplicaContext& cross_;
  const VariableInfo& info_;
  bool ends_equal_;
  CallSite site_;
  std::vector<bool> done_;
};

/// Whether some replica sees a component that lives on another device than its own.
bool is_seen_from_afar(const StrategyCore& core, const VariablePlaces& places);

/// Brings copies of the components to the replicas that see them from other devices.
template <class T>
void refresh_views(StrategyCore& core, VariableState<T>& state) {
  if constexpr (lives_on_devices<T>()) {
    const VariablePlaces& places = state.info.places;
    if (!is_seen_from_afar(core, places)) return;
    std::vector<Placement> targets;
    for (int device : core.devices()) targets.push_back(core.placement_on(device));
    ReplicaArray<typename VariableState<T>::Padded> views(core.size());
    // One broadcast of each component to all replicas that see it.
    std::vector<ReplicaArray<T>> copies;
    std::vector<int> taken(static_cast<std::size_t>(places.size()));
    for (int component = 0; component < places.size(); ++component) {
      std::vector<Placement> seen_from;
      for (int replica = 0; replica < core.size(); ++replica) {
        if (places.component[static_cast<std::size_t>(replica)] == component) {
          seen_from.push_back(targets[static_cast<std::size_t>(replica)]);
        }
      }
      copies.push_back(copies_on(core, state.components[component].value, seen_from));
    }
    for (int component : places.component) {
      const auto index = static_cast<std::size_t>(component < 0 ? 0 : component);
      views.emplace_back(component < 0 ? state.components[0].value
                                       : std::move(copies[index][taken[index]++]));
    }
    state.views = std::move(views);
  }
}

}  // namespace belfry::detail
