// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/process_tensors.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/round_members.h"
#include "belfry/detail/sent_type.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

template <class T>
void send_value(ByteWriter& out, const T& value, Elements elements = Elements::kSent) {
  if constexpr (std::is_same_v<T, std::string>) {
    out.text(value);
  } else if constexpr (IsTensor<T>::value) {
    send_tensor(out, value.any(), elements);
  } else if constexpr (!is_container<T>()) {
    out.put(value);
  } else {
    if constexpr (is_numeric_vector<T>()) {
      out.put(static_cast<std::uint64_t>(value.size()));
      out.add(value.data(), value.size() * sizeof(typename T::value_type));
    } else if constexpr (IsMap<T>::value) {
      out.put(static_cast<std::uint64_t>(value.size()));
      for (const auto& [key, element] : value) {
        send_value(out, key, elements);
        send_value(out, element, elements);
      }
    } else {
      if constexpr (IsVector<T>::value) out.put(static_cast<std::uint64_t>(value.size()));
      if constexpr (IsOptional<T>::value) out.put(value.has_value());
      for_each_child(value, [&](const auto& child) { send_value(out, child, elements); });
    }
  }
}

/// Replaces `value` by the value in the message, with tensors on `place`. Throws: InternalError for
/// a message of another type.
template <class T>
void receive_value(ByteReader& in, T& value, Placement place) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = in.text();
  } else if constexpr (IsTensor<T>::value) {
    value = T(receive_tensor(in, place));
  } else if constexpr (std::is_same_v<T, bool>) {
    value = in.get<bool>();
  } else if constexpr (!is_container<T>()) {
    in.take(&value, sizeof(value));
  } else if constexpr (is_numeric_vector<T>()) {
    using E = typename T::value_type;
    value.resize(in.count(sizeof(E)));
    in.take(value.data(), value.size() * sizeof(E));
  } else if constexpr (IsMap<T>::value) {
    value.clear();
    constexpr std::size_t kLeast =
        least_bytes<typename T::key_type>() + least_bytes<typename T::mapped_type>();
    for (std::size_t left = in.count(kLeast); left > 0; --left) {
      typename T::key_type key{};
      receive_value(in, key, place);
      receive_value(in, value[std::move(key)], place);
    }
  } else {
    if constexpr (IsVector<T>::value) {
      value.clear();
      value.resize(in.count(least_bytes<typename T::value_type>()));
    }
    if constexpr (IsOptional<T>::value) {
      value.reset();
      if (in.get<bool>()) value.emplace();
    }
    for_each_child(value, [&](auto& child) { receive_value(in, child, place); });
  }
}

/// Throws: UnsupportedError: values of the type cannot be sent (SEM-156).
[[noreturn]] void throw_not_sent(const char* what, CallSite site);
/// Begins the message about a value: the replicas of this process with a component. Returns these
/// replicas.
std::vector<int> send_present(ByteWriter& out, const StrategyCore& core,
                              const Participants& present);
/// The replicas of all processes with a component, as the messages begin; the readers go on behind.
/// Throws: InvalidArgumentError (kInvalidArgument) in every process without any component.
Participants receive_present(const StrategyCore& core, std::vector<ByteReader>& messages,
                             const char* what, CallSite site);

/// The number of replicas with a component, in all processes. Order: blocks the host until all
/// processes have called. Throws: as receive_present and RoundMembers::exchange.
int count_of_processes(StrategyCore& core, const char* what, const Participants& present,
                       CallSite site);

/// A value that a received value replaces: a component, or an empty value if the message has all of
/// a value. Throws: UnsupportedError if this process has no component, and the type has no default
/// constructor.
template <class T>
T like_components([[maybe_unused]] const PerReplica<T>& value, [[maybe_unused]] const char* what,
                  [[maybe_unused]] CallSite site) {
  if constexpr (is_numeric_vector<T>() || std::is_same_v<T, std::string>) {
    return {};
  } else if constexpr (std::is_default_constructible_v<T>) {
    return value.begin() == value.end() ? T{} : *value.begin();
  } else {
    if (value.begin() == value.end()) throw_not_sent(what, site);
    return *value.begin();
  }
}

/// The value with the components of this process, and those of other processes from their messages.
/// `like` is replaced by each received value. A message that is read gives its memory back, so that
/// long values are not here twice. Throws: as receive_present.
template <class T>
PerReplica<T> received_components(StrategyCore& core, const char* what, const PerReplica<T>& value,
                                  const T& like, SentValues& sent, CallSite site) {
  const RoundMembers& members = core.members();
  Participants present = receive_present(core, sent.messages, what, site);
  sent.bytes[static_cast<std::size_t>(members.rank())] = Bytes();
  const Placement place = core.placement(core.first_replica());
  ReplicaArray<T> all(present.count());
  for (int i = 0; i < present.count(); ++i) {
    const int replica = present.id(i);
    if (core.own().has(replica)) {
      all.emplace_back(value[replica]);
    } else {
      const auto process = static_cast<std::size_t>(members.process_of(replica));
      receive_value(sent.messages[process], all.emplace_back(like), place);
      if (sent.messages[process].rest().empty()) sent.bytes[process] = Bytes();
    }
  }
  return PerReplica<T>(std::move(all), std::move(present));
}

/// The value with the components of all processes: `exchange(write)` gives the messages.
template <class T, class F>
PerReplica<T> gather_components_by(StrategyCore& core, const char* what, const PerReplica<T>& value,
                                   CallSite site, const F& exchange) {
  std::optional<T> like;
  const auto write = [&](ByteWriter& out, Elements elements) {
    if (!like) like.emplace(like_components(value, what, site));
    for (const int replica : send_present(out, core, value.present())) {
      send_value(out, value[replica], elements);
    }
  };
  SentValues sent = exchange(write);
  return received_components(core, what, value, *like, sent, site);
}

/// The value with the components of the replicas of all processes. Each process gives the existing
/// components of its own replicas. Tensors of other processes come to the first device of this
/// process. Order: blocks the host until all processes have called, and until the tensors of this
/// process are computed.
/// Throws: UnsupportedError; InvalidArgumentError (kInvalidArgument) in every process without any
/// component; DeviceError for tensors that cannot be computed, and then
/// PeerFailedError in the other processes; as RoundMembers::exchange.
template <class T>
PerReplica<T> gather_components_of_processes(StrategyCore& core, const char* what,
                                             const PerReplica<T>& value, CallSite site) {
  if constexpr (!is_sent<T>()) {
    throw_not_sent(what, site);
    return value;
  } else {
    return gather_components_by(core, what, value, site, [&](const auto& write) {
      const auto write_elements = [&](ByteWriter& out) { write(out, Elements::kSent); };
      SentValues sent;
      sent.bytes = core.members().exchange(what, site, write_elements);
      for (const Bytes& bytes : sent.bytes) sent.messages.emplace_back(bytes);
      return sent;
    });
  }
}

/// `fn(value)`, with the components of the replicas of all processes.
template <class T, class F>
decltype(auto) of_all_processes(StrategyCore& core, const char* what, const PerReplica<T>& value,
                                CallSite site, const F& fn) {
  if (core.members().is_alone()) [[likely]] {
    return fn(value);
  }
  return fn(gather_components_of_processes(core, what, value, site));
}

/// The value of process 0, or in a run of the lowest process that takes part.
template <class T>
T value_of_first_process(StrategyCore& core, const char* what, const T& value, CallSite site) {
  if constexpr (!is_sent<T>()) {
    throw_not_sent(what, site);
  } else {
    RoundMembers& members = core.members();
    const auto write = [&](ByteWriter& out) {
      if (members.speaks_first()) send_value(out, value);
    };
    const int speaker = members.first_speaker();
    const auto sent = members.exchange_to_hear(what, site, speaker, write);
    T first = value;
    if (speaker == members.rank()) return first;
    ByteReader in(*sent);
    receive_value(in, first, core.placement(core.first_replica()));
    return first;
  }
}

/// Copies of the components of a variable: those of the replicas of this process.
template <class T>
PerReplica<T> components_here(const StrategyCore& core, const VariableState<T>& state) {
  if (core.own().count() == 0) return PerReplica<T>(ReplicaArray<T>(), core.own());
  ReplicaArray<T> values(state.components.size());
  for (const auto& component : state.components) values.emplace_back(component.value);
  if (core.members().is_alone()) [[likely]] {
    return PerReplica<T>(std::move(values));
  }
  return PerReplica<T>(std::move(values), core.own());
}

/// `fn(value)`, with the value of process 0, or in a run of the lowest process that takes part.
template <class T, class F>
decltype(auto) of_first_process(StrategyCore& core, const char* what, const T& value, CallSite site,
                                const F& fn) {
  if (core.members().is_alone()) [[likely]] {
    return fn(value);
  }
  return fn(value_of_first_process(core, what, value, site));
}

/// gather_components_of_processes for a reduction by an operator: tensors of other processes have
/// no elements here if their elements stay on the devices (SEM-215), which needs `may_stay`.
template <class T>
PerReplica<T> gather_components_to_reduce(StrategyCore& core, const char* what,
                                          const PerReplica<T>& value, CallSite site,
                                          bool may_stay) {
  if constexpr (!is_sent<T>() || !has_tensor<T>()) {
    return gather_components_of_processes(core, what, value, site);
  } else {
    const auto tensors = may_stay ? tensors_to_join(core, value) : std::vector<const AnyTensor*>();
    return gather_components_by(core, what, value, site, [&](const auto& write) {
      return exchange_to_reduce(core, what, site, tensors, write);
    });
  }
}

/// The reduction over the replicas of several processes. Throws: as reduce_value and
/// gather_components_to_reduce.
template <class T>
Mirrored<T> reduce_over_processes(StrategyCore& core, ReduceOp op, const PerReplica<T>& value,
                                  CallSite site) {
  const auto reduce = [&](const PerReplica<T>& all) { return reduce_value(core, op, all, site); };
  if constexpr (!is_sent<T>()) {
    return reduce(gather_components_of_processes(core, "reduce", value, site));
  } else {
    std::vector<int> own;
    for (int i = 0; i < core.own().count(); ++i) {
      if (value.has(core.own().id(i))) own.push_back(core.own().id(i));
    }
    ReplicaArray<T> components(static_cast<int>(own.size()));
    std::vector<AllReduceRequest> requests;
    requests.reserve(own.size());
    for (const int replica : own) {
      T& component = components.emplace_back(value[replica]);
      requests.emplace_back(kAllReduceType<T>, MergePlace(site), op, component);
    }
    const Participants present(core.size(), std::move(own));
    switch (reduce_by_hosts(core, "reduce", site, requests, present)) {
      case HostReduction::kNotTried:
        return reduce(gather_components_to_reduce(core, "reduce", value, site, true));
      case HostReduction::kRefused:
        return reduce(gather_components_to_reduce(core, "reduce", value, site, false));
      case HostReduction::kDone:
        break;
    }
    if constexpr (has_tensor<T>()) {
      return spread(core, components, present);
    } else {
      return mirror(core, components[0]);
    }
  }
}

}  // namespace belfry::detail
