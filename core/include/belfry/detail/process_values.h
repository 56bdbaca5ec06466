// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/byte_stream.h"
#include "belfry/detail/containers.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/process_exchange.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Whether values of a type can be sent to another process: numbers, enumerators, strings, and the
/// containers of these. Tensors cannot.
template <class T>
constexpr bool is_sent() {
  if constexpr (Element<T> || std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                std::is_same_v<T, std::string>) {
    return true;
  } else if constexpr (std::is_same_v<T, std::vector<bool>> || IsTensor<T>::value) {
    return false;
  } else if constexpr (is_container<T>()) {
    const bool elements = all_elements<T>([]<class E>() { return is_sent<E>(); });
    if constexpr (IsMap<T>::value) {
      return elements && is_sent<typename T::key_type>() &&
             std::is_default_constructible_v<typename T::mapped_type>;
    } else if constexpr (IsVector<T>::value || IsOptional<T>::value) {
      return elements && std::is_default_constructible_v<typename T::value_type>;
    } else {
      return elements;
    }
  } else {
    return false;
  }
}

template <class T>
void send_value(ByteWriter& out, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    out.text(value);
  } else if constexpr (!is_container<T>()) {
    out.put(value);
  } else {
    if constexpr (is_numeric_vector<T>()) {
      out.put(static_cast<std::uint64_t>(value.size()));
      out.add(value.data(), value.size() * sizeof(typename T::value_type));
    } else if constexpr (IsMap<T>::value) {
      out.put(static_cast<std::uint64_t>(value.size()));
      for (const auto& [key, element] : value) {
        send_value(out, key);
        send_value(out, element);
      }
    } else {
      if constexpr (IsVector<T>::value) out.put(static_cast<std::uint64_t>(value.size()));
      if constexpr (IsOptional<T>::value) out.put(value.has_value());
      for_each_child(value, [&](const auto& child) { send_value(out, child); });
    }
  }
}

/// Replaces `value` by the value in the message. Throws: InternalError for a message of another
/// type.
template <class T>
void receive_value(ByteReader& in, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = in.text();
  } else if constexpr (!is_container<T>()) {
    in.take(&value, sizeof(value));
  } else if constexpr (is_numeric_vector<T>()) {
    using E = typename T::value_type;
    value.resize(in.count(sizeof(E)));
    in.take(value.data(), value.size() * sizeof(E));
  } else if constexpr (IsMap<T>::value) {
    value.clear();
    for (std::size_t left = in.count(); left > 0; --left) {
      typename T::key_type key{};
      receive_value(in, key);
      receive_value(in, value[std::move(key)]);
    }
  } else {
    if constexpr (IsVector<T>::value) {
      value.clear();
      value.resize(in.count());
    }
    if constexpr (IsOptional<T>::value) {
      value.reset();
      if (in.get<bool>()) value.emplace();
    }
    for_each_child(value, [&](auto& child) { receive_value(in, child); });
  }
}

/// Throws: UnsupportedError: values of the type cannot be sent (SEM-156).
[[noreturn]] void throw_not_sent(const char* what, CallSite site);
/// Throws: UnsupportedError unless every replica of this process has a component (SEM-156).
void require_own_components(const StrategyCore& core, const char* what, const Participants& present,
                            CallSite site);

/// The value with the components of the replicas of all processes. Each process gives
/// the components of its own replicas. Order: blocks the host until all processes have called.
/// Throws: UnsupportedError; as ProcessExchange::values.
template <class T>
PerReplica<T> gather_components_of_processes(StrategyCore& core, const char* what,
                                             const PerReplica<T>& value, CallSite site) {
  if constexpr (!is_sent<T>()) {
    throw_not_sent(what, site);
    return value;
  } else {
    require_own_components(core, what, value.present(), site);
    ByteWriter out;
    for (int i = 0; i < core.own().count(); ++i) send_value(out, value[core.own().id(i)]);
    const ProcessExchange& processes = *core.processes();
    const std::vector<Bytes> sent = core.processes()->values(what, site, out.bytes());
    ReplicaArray<T> all(core.size());
    for (int process = 0; process < processes.processes(); ++process) {
      ByteReader in(sent[static_cast<std::size_t>(process)]);
      const int replicas = processes.first_replica(process + 1) - processes.first_replica(process);
      for (int i = 0; i < replicas; ++i) {
        receive_value(in, all.emplace_back(*value.begin()));
      }
    }
    return PerReplica<T>(std::move(all));
  }
}

/// `fn(value)`, with the components of the replicas of all processes.
template <class T, class F>
decltype(auto) of_all_processes(StrategyCore& core, const char* what, const PerReplica<T>& value,
                                CallSite site, const F& fn) {
  if (core.processes() == nullptr) [[likely]] {
    return fn(value);
  }
  return fn(gather_components_of_processes(core, what, value, site));
}

template <class T>
T value_of_first_process(StrategyCore& core, const char* what, const T& value, CallSite site) {
  if constexpr (!is_sent<T>()) {
    throw_not_sent(what, site);
  } else {
    ByteWriter out;
    if (core.processes()->rank() == 0) send_value(out, value);
    const std::vector<Bytes> sent = core.processes()->values(what, site, out.bytes());
    T first = value;
    ByteReader in(sent.front());
    receive_value(in, first);
    return first;
  }
}

/// `fn(value)`, with the value of process 0.
template <class T, class F>
decltype(auto) of_first_process(StrategyCore& core, const char* what, const T& value, CallSite site,
                                const F& fn) {
  if (core.processes() == nullptr) [[likely]] {
    return fn(value);
  }
  return fn(value_of_first_process(core, what, value, site));
}

}  // namespace belfry::detail
