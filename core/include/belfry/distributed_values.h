// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/print_value.h"
#include "belfry/device_spec.h"
#include "belfry/error.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

namespace detail {
[[noreturn]] void throw_bad_component(int index, int size, CallSite site);
[[noreturn]] void throw_absent_component(int replica, const Participants& present);
[[noreturn]] void throw_no_component(int size, CallSite site);
}  // namespace detail

/// A value for each replica, ordered by replica id: a result of `run`, an argument of a merge
/// function, a step of a dataset.
///
///     const PerReplica<int> ids = strategy.run([](ReplicaContext& r) { return r.replica_id(); });
///     std::cout << ids[1] << ' ' << ids;                     // 1 PerReplica[0, 1]
///     const auto inputs = PerReplica<double>{0.5, 2};        // For run(fn, inputs).
///
/// Also used for a single replica, so that the types of a program do not depend on the number of
/// devices (SEM-10). Replicas that took no part have no value (SEM-90).
template <class T>
class PerReplica {
 public:
  using value_type = T;  ///< The type of a component.

  /// `components` has a value for each replica, in order.
  explicit PerReplica(detail::ReplicaArray<T> components)
      : components_(std::move(components)), present_(components_.size()) {}
  /// `components` has a value for each participating replica.
  /// Throws: InternalError if the counts differ.
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
  /// A value of some replicas: entry i is the component of replica i, or none. Replicas without a
  /// component take no part in a run, and reductions leave them out (SEM-90, SEM-91).
  /// Throws: InvalidArgumentError (kInvalidArgument) if no entry has a value.
  static PerReplica from(std::vector<std::optional<T>> components,
                         CallSite site = CallSite::here()) {
    const int size = static_cast<int>(components.size());
    std::vector<int> ids;
    for (int replica = 0; replica < size; ++replica) {
      if (components[static_cast<std::size_t>(replica)]) ids.push_back(replica);
    }
    if (ids.empty()) detail::throw_no_component(size, site);
    detail::ReplicaArray<T> present(static_cast<int>(ids.size()));
    for (int id : ids) present.emplace_back(std::move(*components[static_cast<std::size_t>(id)]));
    return PerReplica(std::move(present), detail::Participants(size, std::move(ids)));
  }

  /// The number of replicas.
  int size() const { return present_.replicas(); }
  /// Whether `replica` has a component. A replica that took no part has none.
  bool has(int replica) const { return replica >= 0 && replica < size() && present_.has(replica); }
  /// The component of `replica`.
  /// Throws: InvalidArgumentError (kInvalidArgument) if `replica` is not in [0, size()), or took no
  /// part.
  const T& operator[](int replica) const {
    if (replica < 0 || replica >= size()) detail::throw_bad_component(replica, size(), {});
    if (!present_.has(replica)) detail::throw_absent_component(replica, present_);
    return components_[present_.position(replica)];
  }
  /// The components of the participating replicas, in replica order.
  const T* begin() const { return components_.begin(); }
  const T* end() const { return components_.end(); }  ///< The end of the components.
  /// For belfry itself.
  const detail::Participants& present() const { return present_; }

  friend bool operator==(const PerReplica& a, const PerReplica& b)
    requires std::equality_comparable<T>
  {
    return a.present_ == b.present_ && std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  /// `PerReplica[0.5, -, 2]`, with `-` for a replica without a component.
  friend std::ostream& operator<<(std::ostream& out, const PerReplica& value) {
    return detail::print_components(out, "PerReplica", value.size(), [&](int replica) {
      return value.has(replica) ? &value[replica] : nullptr;
    });
  }

 private:
  detail::ReplicaArray<T> components_;
  detail::Participants present_;
};

/// A value that is the same on every replica: the result of `reduce`, `broadcast` and `update`.
///
///     const Mirrored<double> sum = cross.reduce(ReduceOp::kSum, per_replica);
///     std::cout << sum.value();
///
/// Host values are kept once and shared; tensors have a component on each device. The maker
/// promises the equality; belfry checks components with storage of their own (SEM-11).
template <class T>
class Mirrored {
 public:
  using value_type = T;  ///< The type of a component.

  /// `components` has a single element for all replicas, or an element for each of `size` replicas.
  /// Throws: InternalError for any other number of components.
  Mirrored(int size, detail::ReplicaArray<T> components)
      : size_(size), components_(std::move(components)) {
    check(components_.size() == 1 || components_.size() == size, "components of a Mirrored");
  }
  /// For belfry itself: `components` has an element for each replica of this process, from replica
  /// `first` on.
  Mirrored(int size, int first, detail::ReplicaArray<T> components)
      : size_(size), first_(first), components_(std::move(components)) {
    check(first >= 0 && components_.size() > 0 && first + components_.size() <= size,
          "components of a Mirrored over processes");
  }

  int size() const { return size_; }  ///< The number of replicas.
  /// The component of replica 0, or of the lowest replica of this process.
  const T& value() const { return components_[0]; }
  /// The component of `replica`; for a replica of another process, value().
  /// Throws: InvalidArgumentError (kInvalidArgument) if `replica` is not in [0, size()).
  const T& operator[](int replica) const {
    if (replica < 0 || replica >= size_) detail::throw_bad_component(replica, size_, {});
    const int own = replica - first_;
    return components_[own >= 0 && own < components_.size() ? own : 0];
  }
  /// Whether all replicas share a single object.
  bool is_shared() const { return components_.size() == 1; }

  friend bool operator==(const Mirrored& a, const Mirrored& b)
    requires std::equality_comparable<T>
  {
    return a.size_ == b.size_ && a.value() == b.value();
  }
  /// `Mirrored[2, 2]`: the component of each replica.
  friend std::ostream& operator<<(std::ostream& out, const Mirrored& value) {
    return detail::print_components(out, "Mirrored", value.size(),
                                    [&](int replica) { return &value[replica]; });
  }

 private:
  int size_;
  int first_ = 0;  // The replica of component 0.
  detail::ReplicaArray<T> components_;
};

/// A value that is the same on each device of a list: the result of verbs with a destination
/// (SEM-122). A `Mirrored` is the same on every replica; a MirroredOn may be on some devices only,
/// or on devices without a replica. Host values are kept once and shared.
template <class T>
class MirroredOn {
 public:
  using value_type = T;  ///< The type of a component.

  /// `devices` is not empty. `components` has a single element for all devices, or an element for
  /// each device in the same order.
  /// Throws: InternalError for any other number of components.
  MirroredOn(std::vector<DeviceSpec> devices, detail::ReplicaArray<T> components)
      : devices_(std::move(devices)), components_(std::move(components)) {
    check(components_.size() == 1 || components_.size() == size(), "components of a MirroredOn");
  }

  int size() const { return static_cast<int>(devices_.size()); }  ///< The number of devices.
  /// The devices of the value, in the order of the destination.
  const std::vector<DeviceSpec>& devices() const { return devices_; }
  /// The component of the first device.
  const T& value() const { return components_[0]; }
  /// The component on devices()[index].
  /// Throws: InvalidArgumentError (kDestination) unless index is in [0, size()).
  const T& operator[](int index) const {
    if (index < 0 || index >= size()) throw_absent("component " + std::to_string(index), {});
    return components_[is_shared() ? 0 : index];
  }
  /// Whether `device` is in the list.
  bool is_on(const DeviceSpec& device) const {
    return std::ranges::find(devices_, device) != devices_.end();
  }
  /// The component on `device`.
  /// Throws: InvalidArgumentError (kDestination) if the device has none.
  const T& on(const DeviceSpec& device, CallSite site = CallSite::here()) const {
    if (!is_on(device)) throw_absent("component on " + to_string(device), site);
    const auto found = std::ranges::find(devices_, device);
    return (*this)[static_cast<int>(found - devices_.begin())];
  }
  /// Whether all devices share a single object.
  bool is_shared() const { return components_.size() == 1; }

  /// `MirroredOn[2, 2] on` and the devices.
  friend std::ostream& operator<<(std::ostream& out, const MirroredOn& value) {
    detail::print_components(out, "MirroredOn", value.size(), [&](int i) { return &value[i]; });
    out << " on";
    for (const DeviceSpec& device : value.devices()) out << ' ' << to_string(device);
    return out;
  }

 private:
  [[noreturn]] void throw_absent(const std::string& what, CallSite site) const {
    std::string hint = "it is on";
    for (const DeviceSpec& device : devices_) hint += " " + to_string(device);
    throw InvalidArgumentError(ErrorCode::kDestination, "a value has no " + what, std::move(hint),
                               site);
  }

  std::vector<DeviceSpec> devices_;
  detail::ReplicaArray<T> components_;
};

namespace detail {
template <class T>
struct IsMirroredOn : std::false_type {};
template <class T>
struct IsMirroredOn<MirroredOn<T>> : std::true_type {};
}  // namespace detail

}  // namespace belfry
