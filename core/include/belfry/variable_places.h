// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace belfry {

/// Where the components of a variable live, and which of them each replica sees (SEM-110). Devices
/// are indices in the backend.
struct VariablePlaces {
  std::vector<int> devices{};    ///< Of each component.
  std::vector<int> component{};  ///< What each replica sees, by replica id; -1: nothing.

  /// A component with each replica; `replica_devices` are theirs, by replica id.
  static VariablePlaces with_replicas(const std::vector<int>& replica_devices);
  /// One component on `device`, which all `replicas` see.
  static VariablePlaces in_one_place(int device, int replicas);

  int size() const { return static_cast<int>(devices.size()); }
  /// Whether no two replicas see the same component.
  bool is_one_each() const;

  bool operator==(const VariablePlaces&) const = default;
};

}  // namespace belfry
