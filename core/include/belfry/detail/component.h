// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/distributed_values.h"

#include <type_traits>
#include <utility>

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
constexpr bool holds_per_replica() {
  if constexpr (IsPerReplica<T>::value) {
    return true;
  } else if constexpr (is_rebuilt<T>() || HasMembers<T>) {
    return any_element<T>([]<class E>() { return holds_per_replica<E>(); });
  } else {
    return false;
  }
}

/// Specialised by the variable handles.
template <class T>
struct IsVariable : std::false_type {};

/// A value as one replica sees it: distributed leaves give their component, containers are rebuilt
/// leaf by leaf, any other value is handed over as it is (SEM-13). `all` says whether `holds(leaf)`
/// for every distributed leaf.
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

template <class T>
constexpr bool is_unpacked() {
  if constexpr (is_rebuilt<T>()) {
    return any_element<T>([]<class E>() { return Component<E>::kDistributed; });
  } else {
    return false;
  }
}

template <class T>
  requires(is_unpacked<T>())
struct Component<T> {
  struct OfReplica {
    template <class Part>
    decltype(auto) operator()(const Part& part) const {
      return Component<Part>::of(part, replica);
    }
    int replica;
  };

  using type = decltype(rebuild(std::declval<const T&>(), OfReplica{}));
  static constexpr bool kDistributed = true;
  static type of(const T& value, int replica) { return rebuild(value, OfReplica{replica}); }
  template <class Holds>
  static bool all(const T& value, const Holds& holds) {
    bool all = true;
    for_each_child(value, [&]<class Part>(const Part& part) {
      all = all && Component<Part>::all(part, holds);
    });
    return all;
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
