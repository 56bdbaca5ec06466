// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/component.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/nest.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace belfry::detail {

class StrategyCore;

/// A digest of the leaves of values on the host: equal bits, equal number.
class HostDigest {
 public:
  /// Adds the host leaves of a nest, or of each component of a distributed value; of anything else
  /// nothing.
  template <class T>
  void add(const T& value) {
    if constexpr (IsDistributed<T>::value) {
      if constexpr (Nest<typename T::value_type>) {
        for_each_component(value, [this](const auto& component) { this->add(component); });
      }
    } else if constexpr (Nest<T>) {
      for_each_leaf(value, [this](const auto& leaf) { this->add_leaf(leaf); });
    }
  }
  /// 0 without a leaf.
  std::uint64_t value() const { return digest_; }

 private:
  template <class T, class Visit>
  static void for_each_component(const T& value, const Visit& visit) {
    if constexpr (IsPerReplica<T>::value) {
      for (const auto& component : value) visit(component);
    } else {
      for (int replica = 0; replica < value.size(); ++replica) visit(value[replica]);
    }
  }
  template <class Leaf>
  void add_leaf(const Leaf& leaf) {
    if constexpr (Element<Leaf>) {
      add_bytes(&leaf, sizeof(leaf));
    } else if constexpr (UserElement<Leaf>) {
      // The bytes between members have no value.
      const std::string text = ElementTraits<Leaf>::text(leaf);
      add_bytes(text.data(), text.size());
    } else if constexpr (is_numeric_vector<Leaf>()) {
      add_bytes(leaf.data(), leaf.size() * sizeof(typename Leaf::value_type));
    }
  }
  void add_bytes(const void* bytes, std::size_t count);

  std::uint64_t digest_ = 0;
};

/// Tells the log the current digest of the values of `agent`; nothing for a digest of 0.
void note_host_digest(StrategyCore& core, const AgentId& agent, std::uint64_t digest);

/// The same for the host leaves of `values`. Apart, to keep the usual path short.
template <class... T>
[[gnu::noinline]] void note_host_values(StrategyCore& core, const AgentId& agent,
                                        const T&... values) {
  HostDigest digest;
  (digest.add(values), ...);
  note_host_digest(core, agent, digest.value());
}

}  // namespace belfry::detail
