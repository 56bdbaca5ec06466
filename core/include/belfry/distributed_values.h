// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/replica_array.h"
#include "belfry/error.h"

#include <algorithm>
#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace belfry {

namespace detail {
[[noreturn]] void throw_bad_component(int index, int size, CallSite site);
[[noreturn]] void throw_absent_component(int replica, const Participants& present);
}  // namespace detail

/// A value for each replica, ordered by replica id. Also used for a single replica: the types of a
/// program do not depend on the number of devices (SEM-10). Replicas that took no part have no
/// value (SEM-90).
template <class T>
class PerReplica {
 public:
  using value_type = T;

  /// `components` has a value for each replica, in order.
  explicit PerReplica(detail::ReplicaArray<T> components)
      : components_(std::move(components)), present_(components_.size()) {}
  /// `components` has a value for each participating replica. Throws: InternalError if the counts
  /// differ.
  PerReplica(detail::ReplicaArray<T> components, detail::Participants present)
      : components_(std::move(components)), present_(std::move(present)) {
    check(components_.size() == present_.count(), "components of a PerReplica");
  }
  /// A list of components: `PerReplica<int>{1, 2}` has two replicas.
  PerReplica(std::initializer_list<T> components)
      : components_(static_cast<int>(components.size())),
        present_(static_cast<int>(components.size())) {
    for (const T& component : components) components_.emplace_back(component);
  }

  /// The number of replicas.
  int size() const { return present_.replicas(); }
  /// Whether `replica` has a component. A replica that took no part has none.
  bool has(int replica) const { return replica >= 0 && replica < size() && present_.has(replica); }
  /// The component of `replica`. Throws: InvalidArgumentError (kInvalidArgument) if `replica` is
  /// not in [0, size()), or took no part (SEM-90).
  const T& operator[](int replica) const {
    if (replica < 0 || replica >= size()) detail::throw_bad_component(replica, size(), {});
    if (!present_.has(replica)) detail::throw_absent_component(replica, present_);
    return components_[present_.position(replica)];
  }
  /// The components of the participating replicas, in replica order.
  const T* begin() const { return components_.begin(); }
  const T* end() const { return components_.end(); }
  /// For belfry itself.
  const detail::Participants& present() const { return present_; }

  friend bool operator==(const PerReplica& a, const PerReplica& b)
    requires std::equality_comparable<T>
  {
    return a.present_ == b.present_ && std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  detail::ReplicaArray<T> components_;
  detail::Participants present_;
};

/// A value that is the same on every replica. The equality is a promise of the maker; belfry checks
/// components with storage of their own (SEM-11). Host values that belfry mirrors are kept once and
/// shared.
template <class T>
class Mirrored {
 public:
  using value_type = T;

  /// `components` has a single element for all replicas, or an element for each of `size` replicas.
  /// Throws: InternalError for any other number of components.
  Mirrored(int size, detail::ReplicaArray<T> components)
      : size_(size), components_(std::move(components)) {
    check(components_.size() == 1 || components_.size() == size, "components of a Mirrored");
  }

  int size() const { return size_; }
  /// The component of replica 0.
  const T& value() const { return components_[0]; }
  /// The component of `replica`. Throws: InvalidArgumentError (kInvalidArgument) if `replica` is
  /// not in [0, size()).
  const T& operator[](int replica) const {
    if (replica < 0 || replica >= size_) detail::throw_bad_component(replica, size_, {});
    return components_[is_shared() ? 0 : replica];
  }
  /// Whether all replicas share a single object.
  bool is_shared() const { return components_.size() == 1; }

  friend bool operator==(const Mirrored& a, const Mirrored& b)
    requires std::equality_comparable<T>
  {
    return a.size_ == b.size_ && a.value() == b.value();
  }

 private:
  int size_;
  detail::ReplicaArray<T> components_;
};

}  // namespace belfry
