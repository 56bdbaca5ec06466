// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"
#include "belfry/detail/prints.h"

#include <string>
#include <vector>

namespace belfry {

/// The devices of a variable's components, and the component that each replica sees (SEM-110).
/// Devices are indices in the backend.
struct VariablePlaces {
  std::vector<int> devices{};    ///< The device of each component.
  std::vector<int> component{};  ///< The component of each replica, by replica id; -1: none.

  /// A component for each replica; `replica_devices` are the replicas' devices, by replica id.
  static VariablePlaces with_replicas(const std::vector<int>& replica_devices);
  /// A single component on `device`, seen by all `replicas`.
  static VariablePlaces in_one_place(int device, int replicas);

  int size() const { return static_cast<int>(devices.size()); }  ///< The number of components.
  /// Whether no two replicas see the same component.
  bool is_one_each() const;

  bool operator==(const VariablePlaces&) const = default;
};

/// `devices 0 2; replicas see 0 - 1`: `-` for a replica without a component.
std::string to_string(const VariablePlaces& places);

namespace detail {
template <>
inline constexpr bool kPrints<VariablePlaces> = true;
}  // namespace detail

}  // namespace belfry
