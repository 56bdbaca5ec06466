// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <utility>
#include <vector>

// Values that some replicas lack, as at the end of a dataset (SEM-90).
namespace belfry::testing {

/// Some of the replicas, at least one, in ascending order.
inline std::vector<int> some_of(int replicas) {
  std::vector<int> ids;
  const auto chosen = *rc::gen::container<std::vector<bool>>(static_cast<std::size_t>(replicas),
                                                             rc::gen::arbitrary<bool>());
  for (int id = 0; id < replicas; ++id) {
    if (chosen[static_cast<std::size_t>(id)]) ids.push_back(id);
  }
  if (ids.empty()) ids.push_back(*rc::gen::inRange(0, replicas));
  return ids;
}

/// Entry i of `ids` has the component `fn(i)`; the other replicas have none.
template <class F>
auto values_of_some(const std::vector<int>& ids, int replicas, const F& fn) {
  using T = decltype(fn(0));
  const int count = static_cast<int>(ids.size());
  detail::ReplicaArray<T> values(count);
  for (int i = 0; i < count; ++i) values.emplace_back(fn(i));
  return PerReplica<T>(std::move(values), detail::Participants(replicas, ids));
}

}  // namespace belfry::testing
