// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
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

/// Of an aggregate its members. Declared as a reference by what lists them.
template <HasMembers T>
struct HoldsPerReplica<T> : HoldsPerReplica<decltype(T::members(std::declval<T&>()))> {};
template <class T>
struct HoldsPerReplica<T&> : HoldsPerReplica<std::remove_cv_t<T>> {};

/// Specialised by the variable handles.
template <class T>
struct IsVariable : std::false_type {};

/// What one replica sees of a value: distributed leaves give their component, containers are
/// rebuilt leaf by leaf, anything else is handed over as it is (SEM-13). `all` says whether
/// `holds(leaf)` for every distributed leaf.
template <class T>
struct Component {
  using type = T;
  static constexpr bool kDistributed = false;
  static const T& of(const T& value, int) { return value; }
  static const T& of(const T&&, int) = delete;
  template <class Holds>
  static bool all(const T&, const Holds&) {
    return true;
  }
};

template <class T>
struct Component<PerReplica<T>> {
  using type = T;
  static constexpr bool kDistributed = true;
  static const T& of(const PerReplica<T>& value, int replica) { return value[replica]; }
  template <class Holds>
  static bool all(const PerReplica<T>& value, const Holds& holds) {
    return holds(value);
  }
};

template <class T>
struct Component<Mirrored<T>> {
  using type = T;
  static constexpr bool kDistributed = true;
  static const T& of(const Mirrored<T>& value, int replica) { return value[replica]; }
  template <class Holds>
  static bool all(const Mirrored<T>& value, const Holds& holds) {
    return holds(value);
  }
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
  template <class Holds>
  static bool all(const std::tuple<T...>& value, const Holds& holds) {
    return std::apply([&](const T&... part) { return (Component<T>::all(part, holds) && ...); },
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
  template <class Holds>
  static bool all(const std::pair<A, B>& value, const Holds& holds) {
    return Component<A>::all(value.first, holds) && Component<B>::all(value.second, holds);
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
  template <class Holds>
  static bool all(const std::vector<T>& value, const Holds& holds) {
    return std::all_of(value.begin(), value.end(),
                       [&](const T& part) { return Component<T>::all(part, holds); });
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
  template <class Holds>
  static bool all(const std::array<T, N>& value, const Holds& holds) {
    return std::all_of(value.begin(), value.end(),
                       [&](const T& part) { return Component<T>::all(part, holds); });
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
  template <class Holds>
  static bool all(const std::map<K, V>& value, const Holds& holds) {
    return std::all_of(value.begin(), value.end(),
                       [&](const auto& entry) { return Component<V>::all(entry.second, holds); });
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
  template <class Holds>
  static bool all(const std::optional<T>& value, const Holds& holds) {
    return !value || Component<T>::all(*value, holds);
  }
};

template <class T>
using ComponentOf = typename Component<std::remove_cvref_t<T>>::type;

template <class T>
decltype(auto) component(const T& value, int replica) {
  return Component<T>::of(value, replica);
}

/// Throws InvalidArgumentError (kInvalidArgument): a value of `size` replicas among `replicas`.
[[noreturn]] void throw_other_replicas(int size, int replicas, CallSite site);

/// Throws where a distributed value is of more or fewer replicas.
template <class T>
void require_replicas_of(const T& value, int replicas, CallSite site) {
  Component<T>::all(value, [&](const auto& leaf) {
    if (leaf.size() != replicas) throw_other_replicas(leaf.size(), replicas, site);
    return true;
  });
}

/// How the values that replicas hand to a merge reach merge_fn: a variable or a value that is
/// already distributed is itself, anything else becomes a PerReplica (SEM-12).
template <class T>
using Grouped =
    std::conditional_t<IsVariable<T>::value || IsDistributed<T>::value, T, PerReplica<T>>;

}  // namespace belfry::detail
