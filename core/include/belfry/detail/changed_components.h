// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/round_members.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/update_argument.h"
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

/// The components of a mirrored variable: copies of the value in the message.
template <class T>
ReplicaArray<T> received_copies(StrategyCore& core, const VariableState<T>& state, ByteReader& in) {
  std::vector<Placement> places;
  for (const int device : state.info.places.devices) places.push_back(core.placement_on(device));
  T value = state.components[0].value;
  receive_value(in, value, places.front());
  return copies_on(core, value, places);
}

/// The components of a replica-local variable: those in the message for replicas of this process.
template <class T>
ReplicaArray<T> received_components_here(StrategyCore& core, const VariableState<T>& state,
                                         ByteReader& in) {
  ReplicaArray<T> values(state.components.size());
  for (const auto& component : state.components) values.emplace_back(component.value);
  for (std::size_t left = in.count(sizeof(int)); left > 0; --left) {
    const int replica = in.get<int>();
    const std::size_t size = in.count(1);
    ByteReader one({in.skip(size), size});
    if (!core.own().has(replica)) continue;
    receive_value(one, values[core.own().position(replica)], core.placement(replica));
  }
  return values;
}

template <class T>
std::function<void()> receive_components(StrategyCore& core, VariableRecord& record, ByteReader& in,
                                         CallSite site) {
  auto& state = static_cast<VariableState<T>&>(record);
  ReplicaArray<T> values = state.info.synchronization == Synchronization::kOnWrite
                               ? received_copies(core, state, in)
                               : received_components_here(core, state, in);
  auto next = std::make_shared<Replacement<T>>(core, state.info, std::move(values), site);
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

/// The exchange about the new value of a variable, which the lowest process that takes part sends.
/// Listening processes prepare the change. Without such processes nothing happens. Order: blocks
/// the host. Throws: as RoundMembers::exchange.
inline void send_new_value(StrategyCore& core, const Bytes& value, CallSite site) {
  if (!core.members().has_listeners()) return;
  core.members().exchange(kNewValue, site, value);
}
/// The exchange about the change, after every process has prepared the change: listening processes
/// put all new values in place. Order, Throws: as send_new_value.
inline void put_new_values(StrategyCore& core, CallSite site) {
  if (!core.members().has_listeners()) return;
  core.members().exchange(kPutValue, site, Bytes());
}
/// Asks listening processes for the components of a variable, in the next exchange.
inline void ask_for_components(StrategyCore& core, const VariableInfo& info, CallSite site) {
  const auto write = [&info](ByteWriter& out) { out.put(info.number); };
  core.members().exchange(kComponents, site, write);
}

/// The message about the new value of a mirrored variable; empty if no process listens, and unless
/// this process is the lowest that takes part. Order: blocks the host until tensors are computed.
/// Throws: UnsupportedError; DeviceError, and then PeerFailedError in the other processes.
template <class T>
Bytes new_value_message(StrategyCore& core, const VariableInfo& info, const T& value,
                        CallSite site) {
  if (!core.members().has_listeners()) return {};
  if constexpr (!is_sent<T>()) {
    throw_not_sent("update", site);
  } else {
    if (!core.members().speaks_first()) return {};
    return core.telling_failure(site, [&] {
      ByteWriter out;
      out.put(info.number);
      send_value(out, value);
      return out.bytes();
    });
  }
}

/// The same for a replica-local variable: `value_of(replica)` is the new component of each replica
/// of the listening processes. Throws: also exceptions of `value_of`, as DeviceErrors.
template <class T>
Bytes new_components_message(StrategyCore& core, const VariableInfo& info, CallSite site,
                             FunctionRef<T(int)> value_of) {
  if (!core.members().has_listeners()) return {};
  if constexpr (!is_sent<T>()) {
    throw_not_sent("update", site);
  } else {
    if (!core.members().speaks_first()) return {};
    return core.telling_failure(site, [&] {
      ByteWriter out;
      std::vector<int> replicas = core.members().replicas_of_listeners();
      if (info.homes != nullptr) {
        std::erase_if(replicas, [&info](int replica) { return !info.homes->has(replica); });
      }
      out.put(info.number);
      out.put(static_cast<std::uint64_t>(replicas.size()));
      for (const int replica : replicas) {
        const T value = value_of(replica);
        ByteWriter one;
        send_value(one, value);
        out.put(replica);
        out.put(static_cast<std::uint64_t>(one.bytes().size()));
        out.add(one.bytes().data(), one.bytes().size());
      }
      return out.bytes();
    });
  }
}

/// Before the components of a mirrored variable change in the processes that take part: gives
/// listening processes the new value. Order: blocks the host if some process listens. Throws: as
/// new_value_message and send_new_value.
template <class T>
void tell_listeners(StrategyCore& core, const T& value, const VariableInfo& info, CallSite site) {
  if (!core.members().has_listeners() || info.synchronization != Synchronization::kOnWrite) return;
  send_new_value(core, new_value_message(core, info, value, site), site);
  put_new_values(core, site);
}

/// The same for a replica-local variable; `value_of` as in new_components_message.
template <class T>
void tell_listeners_components(StrategyCore& core, const VariableInfo& info, CallSite site,
                               FunctionRef<T(int)> value_of) {
  if (!core.members().has_listeners()) return;
  send_new_value(core, new_components_message<T>(core, info, site, value_of), site);
  put_new_values(core, site);
}

/// Puts the new components in place, in every process. Order, Throws: as tell_listeners.
template <class T>
void put_everywhere(StrategyCore& core, VariableState<T>& state, Replacement<T>& next,
                    CallSite site) {
  const T& first = next.values.size() > 0 ? next.values[0] : state.components[0].value;
  tell_listeners(core, first, state.info, site);
  next.put(state);
}

/// `fn(components)` of a variable, with those of the replicas of all processes, also of processes
/// that listen.
template <class T, class F>
decltype(auto) of_all_components(StrategyCore& core, const char* what,
                                 const VariableState<T>& state, CallSite site, const F& fn) {
  if (core.members().has_listeners()) ask_for_components(core, state.info, site);
  return of_all_processes(core, what, components_here(core, state), site, fn);
}

/// The component of replica 0, of whatever process.
template <class T>
T value_of_first(StrategyCore& core, const char* what, const VariableState<T>& state,
                 CallSite site) {
  if (!core.members().has_listeners()) {
    return of_first_process(core, what, state.components[0].value, site,
                            [](const T& first) { return first; });
  }
  return of_all_components(core, what, state, site,
                           [](const PerReplica<T>& all) { return T(*all.begin()); });
}

/// Gives listening processes the components of a variable after `change`.
template <class T>
void tell_listeners_of_change(StrategyCore& core, CallSite site, const VariableState<T>& state,
                              FunctionRef<void(T&)> change) {
  const auto all = of_all_components(core, "update", state, site,
                                     [](const PerReplica<T>& components) { return components; });
  const auto value_of = [&](int replica) {
    T value = all[replica];
    change(value);
    return value;
  };
  tell_listeners_components<T>(core, state.info, site, FunctionRef<T(int)>(value_of));
}

/// Before the components of a replica-local variable change: gives listening processes their new
/// components. The lowest process that takes part calls `fn` on a copy of each, on its own first
/// device (SEM-234). Order: blocks the host if some process listens. Throws: exceptions of `fn`; as
/// tell_listeners_components.
template <class T, class F, class... Args>
void update_listeners(StrategyCore& core, CrossReplicaContext& cross, CallSite site,
                      const VariableState<T>& state, const F& fn, const Args&... args) {
  if (!core.members().has_listeners() || state.info.synchronization == Synchronization::kOnWrite)
    return;
  if constexpr (!is_sent<T>()) {
    throw_not_sent("update", site);
  } else {
    const auto change = [&](T& value) {
      const int here = core.first_replica();
      CurrentContext context = update_context(core, cross, here);
      const CurrentScope scope(context);
      [[maybe_unused]] const Placement place = core.placement(here);
      fn(value, LocalValue<UpdateArgument<Args>>(update_argument(args, here, place, site), place)
                    .get()...);
    };
    tell_listeners_of_change<T>(core, site, state, FunctionRef<void(T&)>(change));
  }
}

}  // namespace belfry::detail
