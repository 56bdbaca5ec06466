// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/variable/aggregation.h"

#include <numeric>
#include <set>

namespace belfry {

VariablePlaces VariablePlaces::with_replicas(const std::vector<int>& replica_devices) {
  VariablePlaces places{replica_devices, replica_devices};
  std::iota(places.component.begin(), places.component.end(), 0);
  return places;
}

VariablePlaces VariablePlaces::in_one_place(int device, int replicas) {
  return {{device}, std::vector<int>(static_cast<std::size_t>(replicas), 0)};
}

bool VariablePlaces::is_one_each() const {
  std::set<int> seen;
  for (int one : component) {
    if (one >= 0 && !seen.insert(one).second) return false;
  }
  return true;
}

std::string to_string(const VariablePlaces& places) {
  std::string text = "devices";
  for (int device : places.devices) text += " " + std::to_string(device);
  text += "; replicas see";
  for (int component : places.component) {
    text += component < 0 ? " -" : " " + std::to_string(component);
  }
  return text;
}

}  // namespace belfry
