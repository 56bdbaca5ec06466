// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/mirror.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/device_spec.h"
#include "belfry/strategy_hooks.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Cross-replica, inside an update on a device of the backend.
CurrentContext device_context(StrategyCore& core, CrossReplicaContext& cross, int device);
/// The same on replica `replica`'s device.
CurrentContext update_context(StrategyCore& core, CrossReplicaContext& cross, int replica);

/// The replica that provides the values for a device: the replica on the device, else the lowest
/// replica of this process.
int replica_beside(const StrategyCore& core, int device);
/// The index in the backend of a device on which the strategy runs replicas or keeps variables.
/// Throws: InvalidArgumentError (kDestination).
int device_on(StrategyCore& core, const DeviceSpec& spec, CallSite site);
/// The same for devices that each do a task once.
/// Throws: InvalidArgumentError (kDestination, kNoDevices, kDuplicateDevice).
std::vector<int> devices_on(StrategyCore& core, const std::vector<DeviceSpec>& devices,
                            CallSite site);
/// A component on each of `devices`. If `devices` are the usual devices of variables, the usual
/// places.
/// Throws: InvalidArgumentError (kDestination, kNoDevices, kDuplicateDevice); UnsupportedError for
/// some of the usual devices over several processes (SEM-156).
VariablePlaces places_on(StrategyCore& core, const std::vector<DeviceSpec>& devices, CallSite site);

/// A single component, on a device of the backend, for all replicas.
/// Throws: InvalidArgumentError (kDestination); UnsupportedError over several processes.
VariablePlaces one_place(StrategyCore& core, const DeviceSpec& device, CallSite site);

/// The part of ComponentWork without types: the components that have got their values.
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
  const VariableInfo& info() const { return info_; }
  Placement place_of(int component) const;
  std::vector<Placement> places_of(const std::vector<int>& components) const;
  int replica_beside(int component) const;
  CallSite site() const { return site_; }

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

/// Whether some replica sees a component on a device other than its own.
bool is_seen_from_afar(const StrategyCore& core, const VariablePlaces& places);

/// The components of a variable as something to index.
template <class T>
struct ComponentsOf {
  const T& operator[](int index) const { return state.components[index].value; }

  const VariableState<T>& state;
};

/// Copies of components with these values for the replicas that see the components from other
/// devices. None without a replica on another device.
template <class Values>
auto views_of(StrategyCore& core, const VariablePlaces& places, const Values& values) {
  using T = std::remove_cvref_t<decltype(values[0])>;
  ReplicaArray<typename VariableState<T>::Padded> views;
  if constexpr (lives_on_devices<T>()) {
    if (!is_seen_from_afar(core, places)) return views;
    std::vector<Placement> targets;
    for (int device : core.devices()) targets.push_back(core.placement_on(device));
    views = ReplicaArray<typename VariableState<T>::Padded>(core.size());
    // A broadcast of each component to all replicas that see the component.
    std::vector<ReplicaArray<T>> copies;
    std::vector<int> taken(static_cast<std::size_t>(places.size()));
    for (int component = 0; component < places.size(); ++component) {
      std::vector<Placement> seen_from;
      for (int replica = 0; replica < core.size(); ++replica) {
        if (places.component[static_cast<std::size_t>(replica)] == component) {
          seen_from.push_back(targets[static_cast<std::size_t>(replica)]);
        }
      }
      copies.push_back(copies_on(core, values[component], seen_from));
    }
    for (int component : places.component) {
      const auto index = static_cast<std::size_t>(component < 0 ? 0 : component);
      views.emplace_back(component < 0 ? values[0] : std::move(copies[index][taken[index]++]));
    }
  }
  return views;
}

/// Gives the copies back that replicas see from other devices, before components change in place:
/// some share the memory of a component.
template <class T>
void release_views(VariableState<T>& state) {
  if constexpr (lives_on_devices<T>()) {
    for (auto& view : state.views) {
      for_each_leaf(view.value, [](auto& leaf) {
        using Leaf = std::remove_cvref_t<decltype(leaf)>;
        if constexpr (IsTensor<Leaf>::value) leaf = Leaf();
      });
    }
  }
}

/// New components of a variable. All steps that can fail have been done.
template <class T>
struct Replacement {
  Replacement() = default;
  /// The components have changed in place, and only the copies of SEM-111 are new.
  Replacement(StrategyCore& core, const VariableState<T>& state, CallSite where)
      : views(views_of(core, state.info.places, ComponentsOf<T>{state})), site(where) {}
  /// `where` is the changing call.
  Replacement(StrategyCore& core, const VariableInfo& info, ReplicaArray<T> components,
              CallSite where)
      : values(std::move(components)), views(views_of(core, info.places, values)), site(where) {}

  /// Puts the new components in place of the old components.
  void put(VariableState<T>& state) noexcept {
    static_assert(std::is_nothrow_move_assignable_v<T>,
                  "a variable that changes is of a type whose move assignment is noexcept, so that "
                  "all components change or none");
    for (int i = 0; i < values.size(); ++i) state.components[i].value = std::move(values[i]);
    // Each separately: replicas may hold references to seen values.
    for (int i = 0; i < views.size(); ++i) state.views[i].value = std::move(views[i].value);
    state.info.changed = site;
    state.info.lost = nullptr;
    if (VariableTap* const tap = state.info.owner->variable_tap()) [[unlikely]] {
      tap->changed(state);
    }
  }

  ReplicaArray<T> values{};
  ReplicaArray<typename VariableState<T>::Padded> views{};
  CallSite site{};
};

}  // namespace belfry::detail
