// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/nest_traits.h"
#include "belfry/distributed_values.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

template <class T>
struct IsDistributed : std::false_type {};
template <class T>
struct IsDistributed<PerReplica<T>> : std::true_type {};
template <class T>
struct IsDistributed<Mirrored<T>> : std::true_type {};

template <class T>
struct IsPerReplica : std::false_type {};
template <class T>
struct IsPerReplica<PerReplica<T>> : std::true_type {};

/// Whether a value is a PerReplica, or a container that is unpacked has one in it.
template <class T>
struct HoldsPerReplica : IsPerReplica<T> {};
template <class... T>
struct HoldsPerReplica<std::tuple<T...>> : std::disjunction<HoldsPerReplica<T>...> {};
template <class A, class B>
struct HoldsPerReplica<std::pair<A, B>> : std::disjunction<HoldsPerReplica<A>, HoldsPerReplica<B>> {
};
template <class T>
struct HoldsPerReplica<std::vector<T>> : HoldsPerReplica<T> {};
template <class T, std::size_t N>
struct HoldsPerReplica<std::array<T, N>> : HoldsPerReplica<T> {};
template <class K, class V>
struct HoldsPerReplica<std::map<K, V>> : HoldsPerReplica<V> {};
template <class T>
struct HoldsPerReplica<std::optional<T>> : HoldsPerReplica<T> {};

/// Specialised by the variable handles.
template <class T>
struct IsVariable : std::false_type {};

/// What one replica sees of a value: distributed leaves give their component, containers are
/// rebuilt leaf by leaf, anything else is handed over as it is (SEM-13). `has` says whether there
/// is a component: a PerReplica may lack it (SEM-90).
template <class T>
struct Component {
  using type = T;
  static constexpr bool kDistributed = false;
  static const T& of(const T& value, int) { return value; }
  static const T& of(const T&&, int) = delete;
  static bool has(const T&, int) { return true; }
};

template <class T>
struct Component<PerReplica<T>> {
  using type = T;
  static constexpr bool kDistributed = true;
  static const T& of(const PerReplica<T>& value, int replica) { return value[replica]; }
  // A value of too few replicas is found where the component is asked for.
  static bool has(const PerReplica<T>& value, int replica) {
    return replica >= value.size() || value.has(replica);
  }
};

template <class T>
struct Component<Mirrored<T>> {
  using type = T;
  static constexpr bool kDistributed = true;
  static const T& of(const Mirrored<T>& value, int replica) { return value[replica]; }
  static bool has(const Mirrored<T>&, int) { return true; }
};

template <class... T>
  requires(Component<T>::kDistributed || ...)
struct Component<std::tuple<T...>> {
  using type = std::tuple<typename Component<T>::type...>;
  static constexpr bool kDistributed = true;
  static type of(const std::tuple<T...>& value, int replica) {
    return std::apply([&](const T&... part) { return type{Component<T>::of(part, replica)...}; },
                      value);
  }
  static bool has(const std::tuple<T...>& value, int replica) {
    return std::apply([&](const T&... part) { return (Component<T>::has(part, replica) && ...); },
                      value);
  }
};

template <class A, class B>
  requires(Component<A>::kDistributed || Component<B>::kDistributed)
struct Component<std::pair<A, B>> {
  using type = std::pair<typename Component<A>::type, typename Component<B>::type>;
  static constexpr bool kDistributed = true;
  static type of(const std::pair<A, B>& value, int replica) {
    return {Component<A>::of(value.first, replica), Component<B>::of(value.second, replica)};
  }
  static bool has(const std::pair<A, B>& value, int replica) {
    return Component<A>::has(value.first, replica) && Component<B>::has(value.second, replica);
  }
};

template <class T>
  requires Component<T>::kDistributed
struct Component<std::vector<T>> {
  using type = std::vector<typename Component<T>::type>;
  static constexpr bool kDistributed = true;
  static type of(const std::vector<T>& value, int replica) {
    type out;
    out.reserve(value.size());
    for (const T& part : value) out.push_back(Component<T>::of(part, replica));
    return out;
  }
  static bool has(const std::vector<T>& value, int replica) {
    return std::all_of(value.begin(), value.end(),
                       [&](const T& part) { return Component<T>::has(part, replica); });
  }
};

template <class T, std::size_t N>
  requires Component<T>::kDistributed
struct Component<std::array<T, N>> {
  using type = std::array<typename Component<T>::type, N>;
  static constexpr bool kDistributed = true;
  static type of(const std::array<T, N>& value, int replica) {
    return std::apply([&](const auto&... part) { return type{Component<T>::of(part, replica)...}; },
                      value);
  }
  static bool has(const std::array<T, N>& value, int replica) {
    return std::all_of(value.begin(), value.end(),
                       [&](const T& part) { return Component<T>::has(part, replica); });
  }
};

template <class K, class V>
  requires Component<V>::kDistributed
struct Component<std::map<K, V>> {
  using type = std::map<K, typename Component<V>::type>;
  static constexpr bool kDistributed = true;
  static type of(const std::map<K, V>& value, int replica) {
    type out;
    for (const auto& [key, part] : value) {
      out.emplace_hint(out.end(), key, Component<V>::of(part, replica));
    }
    return out;
  }
  static bool has(const std::map<K, V>& value, int replica) {
    return std::all_of(value.begin(), value.end(),
                       [&](const auto& entry) { return Component<V>::has(entry.second, replica); });
  }
};

template <class T>
  requires Component<T>::kDistributed
struct Component<std::optional<T>> {
  using type = std::optional<typename Component<T>::type>;
  static constexpr bool kDistributed = true;
  static type of(const std::optional<T>& value, int replica) {
    return value ? type{Component<T>::of(*value, replica)} : type{};
  }
  static bool has(const std::optional<T>& value, int replica) {
    return !value || Component<T>::has(*value, replica);
  }
};

template <class T>
using ComponentOf = typename Component<std::remove_cvref_t<T>>::type;

template <class T>
decltype(auto) component(const T& value, int replica) {
  return Component<T>::of(value, replica);
}

/// How the values that replicas hand to a merge reach merge_fn: a variable or a value that is
/// already distributed is itself, anything else becomes a PerReplica (SEM-12).
template <class T>
using Grouped =
    std::conditional_t<IsVariable<T>::value || IsDistributed<T>::value, T, PerReplica<T>>;

}  // namespace belfry::detail
