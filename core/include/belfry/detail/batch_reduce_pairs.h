// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/destination.h"
#include "belfry/detail/place.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// One value of a batch, whose destination, if it has one, is known to exist.
template <class V>
struct BatchMember;

template <Nest T>
struct BatchMember<PerReplica<T>> {
  BatchMember(StrategyCore& core, const PerReplica<T>& member, CallSite site) : value(member) {
    require_replicas(core, value.size(), site);
  }
  Mirrored<T> reduce(StrategyCore& core, ReduceOp op, CallSite site) const {
    return reduce_value(core, op, value, site);
  }

  const PerReplica<T>& value;
};

template <Nest T, Destination D>
struct BatchMember<std::pair<PerReplica<T>, D>> {
  BatchMember(StrategyCore& core, const std::pair<PerReplica<T>, D>& member, CallSite site)
      : value(member.first), devices(destination_of(core, member.second, site)) {
    require_replicas(core, value.size(), site);
  }
  MirroredOn<T> reduce(StrategyCore& core, ReduceOp op, CallSite site) const {
    return place(core, reduce_value(core, op, value, site), devices);
  }

  const PerReplica<T>& value;
  std::vector<int> devices;
};

template <class... V>
auto batch_reduce(StrategyCore& core, ReduceOp op, CallSite site, const V&... values) {
  const std::tuple<BatchMember<V>...> members{BatchMember<V>(core, values, site)...};
  return std::apply(
      [&](const auto&... member) {
        // Braces, so that the reductions happen in order.
        return std::tuple<decltype(member.reduce(core, op, site))...>{
            member.reduce(core, op, site)...};
      },
      members);
}

template <Nest T, Destination D>
std::vector<MirroredOn<T>> batch_reduce(StrategyCore& core, ReduceOp op, CallSite site,
                                        const std::vector<std::pair<PerReplica<T>, D>>& pairs) {
  std::vector<BatchMember<std::pair<PerReplica<T>, D>>> members;
  members.reserve(pairs.size());
  for (const auto& pair : pairs) members.emplace_back(core, pair, site);
  std::vector<MirroredOn<T>> results;
  results.reserve(members.size());
  for (const auto& member : members) results.push_back(member.reduce(core, op, site));
  return results;
}

}  // namespace belfry::detail
