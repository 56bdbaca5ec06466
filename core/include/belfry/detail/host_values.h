// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/component.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/nest.h"

#include <cstddef>
#include <cstdint>

namespace belfry::detail {

class StrategyCore;

/// What those leaves of values that lie on the host come to: the same bits, the same number.
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
  /// 0 where there was no leaf.
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
    } else if constexpr (is_numeric_vector<Leaf>()) {
      add_bytes(leaf.data(), leaf.size() * sizeof(typename Leaf::value_type));
    }
  }
  void add_bytes(const void* bytes, std::size_t count);

  std::uint64_t digest_ = 0;
};

/// Whether the log is to have digests of what is on the host.
bool notes_host_values(StrategyCore& core);
/// Tells the log that `agent` has values of this digest now; nothing where it is 0.
void note_host_digest(StrategyCore& core, const AgentId& agent, std::uint64_t digest);

/// The same for the host leaves of `values`. Apart, lest the usual way be longer for it.
template <class... T>
[[gnu::noinline]] void note_host_values(StrategyCore& core, const AgentId& agent,
                                        const T&... values) {
  HostDigest digest;
  (digest.add(values), ...);
  note_host_digest(core, agent, digest.value());
}

}  // namespace belfry::detail
