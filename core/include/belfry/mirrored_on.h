// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/replica_array.h"
#include "belfry/device_spec.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// A value that is the same on each device of a list: the result of verbs with a destination
/// (SEM-122). A `Mirrored` is the same on every replica; a MirroredOn may be on some devices only,
/// or on devices without a replica. Host values are kept once and shared.
template <class T>
class MirroredOn {
 public:
  using value_type = T;

  /// `devices` is not empty. `components` has a single element for all devices, or an element for
  /// each device in the same order. Throws: InternalError for any other number of components.
  MirroredOn(std::vector<DeviceSpec> devices, detail::ReplicaArray<T> components)
      : devices_(std::move(devices)), components_(std::move(components)) {
    check(components_.size() == 1 || components_.size() == size(), "components of a MirroredOn");
  }

  int size() const { return static_cast<int>(devices_.size()); }
  /// The devices of the value, in the order of the destination.
  const std::vector<DeviceSpec>& devices() const { return devices_; }
  /// The component of the first device.
  const T& value() const { return components_[0]; }
  /// The component on devices()[index]. Throws: InvalidArgumentError (kDestination) unless index is
  /// in [0, size()).
  const T& operator[](int index) const {
    if (index < 0 || index >= size()) throw_absent("component " + std::to_string(index), {});
    return components_[is_shared() ? 0 : index];
  }
  bool is_on(const DeviceSpec& device) const {
    return std::ranges::find(devices_, device) != devices_.end();
  }
  /// The component on `device`. Throws: InvalidArgumentError (kDestination) if the device has none.
  const T& on(const DeviceSpec& device, CallSite site = CallSite::here()) const {
    if (!is_on(device)) throw_absent("component on " + to_string(device), site);
    const auto found = std::ranges::find(devices_, device);
    return (*this)[static_cast<int>(found - devices_.begin())];
  }
  /// Whether all devices share a single object.
  bool is_shared() const { return components_.size() == 1; }

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
