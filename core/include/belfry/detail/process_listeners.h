// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

/// Variables in runs in which some process listens, because none of its replicas takes part
/// (SEM-212).
namespace belfry::detail {

// The verbs that a listening process understands.
inline constexpr const char* kNewValue = "update: the new value";
inline constexpr const char* kPutValue = "update: the change";
inline constexpr const char* kComponents = "read: the variable";

template <class T>
std::function<void()> receive_components(StrategyCore& core, VariableRecord& record, ByteReader& in,
                                         CallSite site) {
  auto& state = static_cast<VariableState<T>&>(record);
  std::vector<Placement> places;
  for (const int device : state.info.places.devices) places.push_back(core.placement_on(device));
  T value = state.components[0].value;
  receive_value(in, value, places.front());
  auto next =
      std::make_shared<Replacement<T>>(core, state.info, copies_on(core, value, places), site);
  return [&state, next] { next->put(state); };
}

template <class T>
void send_components(StrategyCore& core, const VariableRecord& record, ByteWriter& out) {
  const PerReplica<T> own = components_here(core, static_cast<const VariableState<T>&>(record));
  for (const int replica : send_present(out, core, own.present())) send_value(out, own[replica]);
}

/// Null for a type that cannot be sent, or cannot change.
template <class T>
const SentComponents* sent_components() {
  if constexpr (is_sent<T>() && std::is_nothrow_move_assignable_v<T>) {
    static constexpr SentComponents kFunctions{&receive_components<T>, &send_components<T>};
    return &kFunctions;
  } else {
    return nullptr;
  }
}

/// Whether some process listens to the present run.
bool has_listeners(const StrategyCore& core);
/// Throws: UnsupportedError if some process listens to the present run.
void require_no_listener(const StrategyCore& core, const char* what, CallSite site);
/// The same before an update of a variable, unless listening processes get the new value.
void require_heard(const StrategyCore& core, const VariableInfo& info, CallSite site);
/// The exchanges about the new value of a mirrored variable: the value, which the lowest process
/// that takes part sends, and the change, after every process has prepared the change. Order:
/// blocks the host. Throws: as ProcessExchange::values.
void exchange_new_value(StrategyCore& core, const Bytes& value, CallSite site);
/// Asks listening processes for the components of a variable, in the next exchange.
void ask_for_components(StrategyCore& core, const VariableInfo& info, CallSite site);

/// Before the components of a mirrored variable change in the processes that take part: gives
/// listening processes the new value. Order: blocks the host if some process listens. Throws: as
/// exchange_new_value; DeviceError for tensors that cannot be computed.
template <class T>
void tell_listeners(StrategyCore& core, const T& value, const VariableInfo& info, CallSite site) {
  if (!has_listeners(core) || info.synchronization != Synchronization::kOnWrite) return;
  if constexpr (!is_sent<T>()) {
    throw_not_sent("update", site);
  } else {
    ByteWriter out;
    if (core.processes()->speaks_first()) {
      out.put(info.number);
      send_value(out, value);
    }
    exchange_new_value(core, out.bytes(), site);
  }
}

/// Puts the new components in place, in every process. Order, Throws: as tell_listeners.
template <class T>
void put_everywhere(StrategyCore& core, VariableState<T>& state, Replacement<T>& next,
                    CallSite site) {
  tell_listeners(core, next.values[0], state.info, site);
  next.put(state);
}

/// `fn(components)` of a variable, with those of the replicas of all processes, also of processes
/// that listen.
template <class T, class F>
decltype(auto) of_all_components(StrategyCore& core, const char* what,
                                 const VariableState<T>& state, CallSite site, const F& fn) {
  if (has_listeners(core)) ask_for_components(core, state.info, site);
  return of_all_processes(core, what, components_here(core, state), site, fn);
}

/// The component of replica 0, of whatever process.
template <class T>
T value_of_first(StrategyCore& core, const char* what, const VariableState<T>& state,
                 CallSite site) {
  if (!has_listeners(core)) {
    const T& own = state.components[0].value;
    return core.processes() == nullptr ? own : value_of_first_process(core, what, own, site);
  }
  return of_all_components(core, what, state, site,
                           [](const PerReplica<T>& all) { return T(*all.begin()); });
}

}  // namespace belfry::detail
