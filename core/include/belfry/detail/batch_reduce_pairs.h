// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/destination.h"
#include "belfry/detail/place.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/reduction_batch.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"

#include <cstddef>
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
  Mirrored<T> result(StrategyCore& core, ReducedValue<T>& reduced) const {
    return reduced.result(core);
  }

  const PerReplica<T>& value;
};

template <Nest T, Destination D>
struct BatchMember<std::pair<PerReplica<T>, D>> {
  BatchMember(StrategyCore& core, const std::pair<PerReplica<T>, D>& member, CallSite site)
      : value(member.first), devices(destination_of(core, member.second, site)) {
    require_replicas(core, value.size(), site);
  }
  MirroredOn<T> result(StrategyCore& core, ReducedValue<T>& reduced) const {
    return place(core, reduced.result(core), devices);
  }

  const PerReplica<T>& value;
  std::vector<int> devices;
};

template <class T>
void append_to(ReductionBatch& batch, const PerReplica<T>& value, ReducedValue<T>& reduced,
               CallSite site) {
  reduced.append_to(batch.parts_of(value.present(), has_tensor<T>()), site);
}

template <class... V>
auto batch_reduce(StrategyCore& core, ReduceOp op, CallSite site, const V&... values) {
  const std::tuple<BatchMember<V>...> members{BatchMember<V>(core, values, site)...};
  return std::apply(
      [&](const auto&... member) {
        std::tuple reduced{ReducedValue(core, member.value, site)...};
        return std::apply(
            [&](auto&... own) {
              ReductionBatch batch;
              (append_to(batch, member.value, own, site), ...);
              batch.reduce(core, op, site);
              // Braces, so that copies are enqueued in order.
              return std::tuple<decltype(member.result(core, own))...>{member.result(core, own)...};
            },
            reduced);
      },
      members);
}

template <Nest T, Destination D>
std::vector<MirroredOn<T>> batch_reduce(StrategyCore& core, ReduceOp op, CallSite site,
                                        const std::vector<std::pair<PerReplica<T>, D>>& pairs) {
  std::vector<BatchMember<std::pair<PerReplica<T>, D>>> members;
  members.reserve(pairs.size());
  for (const auto& pair : pairs) members.emplace_back(core, pair, site);
  std::vector<ReducedValue<T>> reduced;
  reduced.reserve(members.size());
  for (const auto& member : members) reduced.emplace_back(core, member.value, site);

  ReductionBatch batch;
  for (std::size_t i = 0; i < members.size(); ++i) {
    append_to(batch, members[i].value, reduced[i], site);
  }
  batch.reduce(core, op, site);
  std::vector<MirroredOn<T>> results;
  results.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    results.push_back(members[i].result(core, reduced[i]));
  }
  return results;
}

// The same over several processes: each member in an exchange of its own.

template <class Cross, class T>
Mirrored<T> reduce_member(Cross& cross, CallSite site, ReduceOp op, const PerReplica<T>& member) {
  return cross.reduce(op, member, site);
}
template <class Cross, class T, class D>
MirroredOn<T> reduce_member(Cross& cross, CallSite site, ReduceOp op,
                            const std::pair<PerReplica<T>, D>& member) {
  return cross.reduce(op, member.first, member.second, site);
}
template <class Cross, class T, class D>
std::vector<MirroredOn<T>> reduce_one_by_one(
    Cross& cross, CallSite site, ReduceOp op,
    const std::vector<std::pair<PerReplica<T>, D>>& pairs) {
  std::vector<MirroredOn<T>> results;
  for (const auto& pair : pairs) results.push_back(reduce_member(cross, site, op, pair));
  return results;
}
template <class Cross, class... V>
auto reduce_one_by_one(Cross& cross, CallSite site, ReduceOp op, const V&... values) {
  return std::tuple<decltype(reduce_member(cross, site, op, values))...>{
      reduce_member(cross, site, op, values)...};
}

}  // namespace belfry::detail
