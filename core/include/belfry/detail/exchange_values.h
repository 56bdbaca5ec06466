// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/exchange_call.h"
#include "belfry/detail/exchange_parts.h"
#include "belfry/detail/exchange_verbs.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/tensor_moves.h"
#include "belfry/distributed_values.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::detail {

template <class T>
PerReplica<std::vector<T>> all_to_all_values(const Exchange& exchange,
                                             const PerReplica<std::vector<T>>& all,
                                             const Participants& own) {
  const ExchangeMembers& members = exchange.members;
  std::vector<int> replicas;
  std::vector<std::size_t> counts;
  for (int i = 0; i < members.count(); ++i) {
    replicas.push_back(members.id(i));
    counts.push_back(all[members.id(i)].size());
  }
  require_parts(exchange, replicas, counts);
  TensorMoves moves(exchange.core, exchange.on_devices);
  for (const int from : replicas) {
    for (int to = 0; to < members.count(); ++to) {
      moves.add_all<T>(all[from][static_cast<std::size_t>(to)], from, {members.id(to)});
    }
  }
  moves.run(exchange.site);
  return for_each_own(exchange, own, [&](int position, Placement place) {
    std::vector<T> received;
    received.reserve(static_cast<std::size_t>(members.count()));
    for (int from = 0; from < members.count(); ++from) {
      const std::vector<T>& parts = all[members.id(from)];
      received.push_back(placed_on<T>(parts[static_cast<std::size_t>(position)], place));
    }
    return received;
  });
}

template <class T>
PerReplica<T> broadcast_values(const Exchange& exchange, const PerReplica<T>& all,
                               const Participants& own) {
  const int root = root_of(exchange);
  const T& value = all[root];
  std::vector<int> receivers;
  for (int i = 0; i < exchange.members.count(); ++i) receivers.push_back(exchange.members.id(i));
  TensorMoves moves(exchange.core, exchange.on_devices);
  moves.add_all(value, root, receivers);
  moves.run(exchange.site);
  std::vector<Placement> targets;
  targets.reserve(static_cast<std::size_t>(own.count()));
  for (int i = 0; i < own.count(); ++i) targets.push_back(exchange.core.placement(own.id(i)));
  return PerReplica<T>(copies_on(exchange.core, value, targets), own);
}

template <class T>
PerReplica<std::optional<T>> permute_values(const Exchange& exchange, const PerReplica<T>& all,
                                            const Participants& own) {
  const std::vector<int> senders = senders_of(exchange);
  std::map<int, std::vector<int>> receivers;  // Of each sender.
  for (int to = 0; to < exchange.members.count(); ++to) {
    const int sender = senders[static_cast<std::size_t>(to)];
    if (sender >= 0) receivers[exchange.members.id(sender)].push_back(exchange.members.id(to));
  }
  TensorMoves moves(exchange.core, exchange.on_devices);
  for (const auto& [sender, to] : receivers) moves.add_all(all[sender], sender, to);
  moves.run(exchange.site);
  return for_each_own(exchange, own, [&](int position, Placement place) {
    const int sender = senders[static_cast<std::size_t>(position)];
    std::optional<T> received;
    if (sender >= 0) received.emplace(placed_on(all[exchange.members.id(sender)], place));
    return received;
  });
}

template <class T>
PerReplica<T> scatter_parts(const Exchange& exchange, const PerReplica<std::vector<T>>& all,
                            const Participants& own) {
  const int root = root_of(exchange);
  const std::vector<T>& parts = all[root];
  require_parts(exchange, {root}, {parts.size()});
  TensorMoves moves(exchange.core, exchange.on_devices);
  for (int to = 0; to < exchange.members.count(); ++to) {
    moves.add_all<T>(parts[static_cast<std::size_t>(to)], root, {exchange.members.id(to)});
  }
  moves.run(exchange.site);
  return for_each_own(exchange, own, [&](int position, Placement place) {
    return placed_on<T>(parts[static_cast<std::size_t>(position)], place);
  });
}

template <class Self>
template <MergeKind Kind, class T, class Values>
auto ExchangeVerbs<Self>::exchange(MergePlace place, T value, ExchangeArgs args,
                                   const Values& values_of) const {
  const auto merge = [&values_of, group = self().exchange_group(), site = place.site](
                         CrossReplicaContext& cross, const PerReplica<T>& values,
                         const PerReplica<ExchangeArgs>& asked) {
    StrategyCore& core = cross.core();
    const char* const verb = to_string(Kind);
    const auto of_all = [&](const PerReplica<ExchangeArgs>& all_asked) {
      const ExchangeMembers members(group, all_asked.present());
      Exchange exchange{
          verb, core, members, all_asked.present(), agreed_args(verb, all_asked, site), site};
      if (core.members().is_alone()) [[likely]] {
        return values_of(exchange, values, values.present());
      }
      // Messages have the values that are read.
      const PerReplica<T> sent = components_of(values, sources_of(exchange, Kind));
      PerReplica<T> moved = gather_components_to_move(core, verb, sent, site, exchange.on_devices);
      return values_of(exchange, moved, values.present());
    };
    return of_all_processes(core, verb, asked, site, of_all);
  };
  return self().template merge_at<Kind>(place, nullptr, merge, std::move(value), std::move(args));
}

template <class Self>
template <class T>
T ExchangeVerbs<Self>::reduce_scatter(ReduceOp op, T value, Axis axis,
                                      std::vector<std::int64_t> sizes, MergePlace place) const {
  if constexpr (require_axes<T>()) {
    return exchange<MergeKind::kReduceScatter>(
        place, std::move(value),
        {.op = static_cast<int>(op), .axis = axis.value, .sizes = std::move(sizes)},
        reduce_scatter_values<T>);
  } else {
    return Refused();
  }
}

template <class Self>
template <class T>
std::vector<T> ExchangeVerbs<Self>::all_to_all(std::vector<T> parts, MergePlace place) const {
  return exchange<MergeKind::kAllToAll>(place, std::move(parts), {}, all_to_all_values<T>);
}

template <class Self>
template <class T>
T ExchangeVerbs<Self>::broadcast(T value, int root, MergePlace place) const {
  return exchange<MergeKind::kBroadcast>(place, std::move(value), {.root = root},
                                         broadcast_values<T>);
}

template <class Self>
template <class T>
std::optional<T> ExchangeVerbs<Self>::permute(T value,
                                              const std::vector<std::pair<int, int>>& pairs,
                                              MergePlace place) const {
  std::vector<std::int64_t> ends;
  for (const auto& [sender, receiver] : pairs) ends.insert(ends.end(), {sender, receiver});
  return exchange<MergeKind::kPermute>(place, std::move(value), {.pairs = std::move(ends)},
                                       permute_values<T>);
}

template <class Self>
template <class T>
T ExchangeVerbs<Self>::scatter_from(std::vector<T> parts, int root, MergePlace place) const {
  return exchange<MergeKind::kScatterFrom>(place, std::move(parts), {.root = root},
                                           scatter_parts<T>);
}

template <class Self>
template <class T>
T ExchangeVerbs<Self>::scatter_from(T value, Axis axis, int root, std::vector<std::int64_t> sizes,
                                    MergePlace place) const {
  if constexpr (require_axes<T>()) {
    return exchange<MergeKind::kScatterFrom>(
        place, std::move(value), {.axis = axis.value, .root = root, .sizes = std::move(sizes)},
        scatter_along<T>);
  } else {
    return Refused();
  }
}

template <class Self>
template <class T>
std::optional<T> ExchangeVerbs<Self>::gather_to(T value, Axis axis, int root,
                                                MergePlace place) const {
  if constexpr (require_axes<T>()) {
    return exchange<MergeKind::kGatherTo>(place, std::move(value),
                                          {.axis = axis.value, .root = root}, gather_values<T>);
  } else {
    return std::nullopt;
  }
}

}  // namespace belfry::detail
