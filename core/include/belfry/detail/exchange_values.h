// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/exchange_verbs.h"
#include "belfry/detail/gather_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// An exchange in which all replicas ask for the same.
struct Exchange {
  const char* verb = "";
  StrategyCore& core;
  const ExchangeMembers& members;
  const ExchangeArgs& args;
  CallSite site{};
};

/// What every replica asks for. Throws: StructureMismatchError (kStructure) if replicas differ.
const ExchangeArgs& agreed_args(const char* verb, const PerReplica<ExchangeArgs>& args,
                                CallSite site);
/// The replica of the root. Throws: InvalidArgumentError (kInvalidArgument) without this replica.
int root_of(const Exchange& exchange);
/// The position of the sender to each position; -1 for none. Throws: InvalidArgumentError
/// (kInvalidArgument) for a replica that does not exist or takes no part, and for two senders.
std::vector<int> senders_of(const Exchange& exchange);
/// Throws: InvalidArgumentError (kInvalidArgument) unless each of `counts`, the numbers of parts of
/// `replicas`, is that of the replicas that take part.
void require_parts(const Exchange& exchange, const std::vector<int>& replicas,
                   const std::vector<std::size_t>& counts);

/// Where values of a shape are cut into parts.
struct AxisCuts {
  int axis = 0;                        ///< From 0.
  std::vector<std::int64_t> begins{};  ///< Of each part, and the extent.
};
/// Throws: InvalidArgumentError (kShape) without the axis, or if sizes do not add up to the extent;
/// (kInvalidArgument) for another number of sizes than of replicas that take part.
AxisCuts cuts_of(const Exchange& exchange, const Shape& shape);
/// The same for each leaf.
std::vector<AxisCuts> cuts_of(const Exchange& exchange, const std::vector<LeafRef>& leaves);

/// Part `part` of a tensor, on `place`, in storage of its own.
AnyTensor part_on(const AnyTensor& whole, const AxisCuts& cuts, int part, Placement place,
                  CallSite site);

/// A reduction of which each replica gets a part.
struct PartsReduction {
  const Exchange& exchange;
  const std::vector<std::vector<LeafRef>>& inputs;  ///< The leaves of each position.
  const std::vector<AxisCuts>& cuts;                ///< Of each leaf.
};
/// Throws: InvalidArgumentError (kIntegerMean, kDType, kInvalidArgument, kSumOverflow), with
/// `place` for the leaf.
void require_reduction(const PartsReduction& reduction, LeafPlaces place);
/// Part `part` of the reduction of a leaf: in `out`, or a tensor on `place`. Each element has the
/// additions of all_reduce.
void reduce_part(const PartsReduction& reduction, std::size_t leaf, int part, void* out);
AnyTensor reduce_part(const PartsReduction& reduction, std::size_t leaf, int part, Placement place);

/// Whether all leaves of a nest have axes.
template <class T>
constexpr bool has_axes() {
  if constexpr (IsTensor<T>::value || is_numeric_vector<T>()) {
    return true;
  } else if constexpr (is_container<T>()) {
    return all_elements<T>([]<class E>() { return has_axes<E>(); });
  } else {
    return false;
  }
}
/// Tests the type of a verb along an axis; returns whether the type fits.
template <class T>
constexpr bool require_axes() {
  if constexpr (require_nest<T>()) {
    static_assert(has_axes<T>(),
                  "the verb takes parts of vectors and tensors along an axis, and a number has "
                  "none: put it into a std::vector");
    return has_axes<T>();
  } else {
    return false;
  }
}

/// `make(position, place)` for each replica of `own`.
template <class F>
auto for_each_own(const Exchange& exchange, const Participants& own, const F& make) {
  using Result = decltype(make(0, Placement()));
  ReplicaArray<Result> results(own.count());
  for (int i = 0; i < own.count(); ++i) {
    const int replica = own.id(i);
    results.emplace_back(
        make(exchange.members.position_of(replica), exchange.core.placement(replica)));
  }
  return PerReplica<Result>(std::move(results), own);
}

/// A value with `part(leaf, index)` in place of each leaf of `like`.
template <class T, class Part>
T with_leaves(const T& like, const Part& part) {
  T value = like;
  std::size_t index = 0;
  for_each_leaf(value, [&](auto& leaf) { leaf = part(leaf, index++); });
  return value;
}

/// The results of the replicas of `own`.
template <class T>
PerReplica<T> reduce_scatter_values(const Exchange& exchange, const PerReplica<T>& all,
                                    const Participants& own) {
  const ExchangeMembers& members = exchange.members;
  if (has_tensor<T>()) require_all_replicas(exchange.core, all.size(), exchange.site);
  // The leaves are only read.
  const auto value = [&](int position) -> T& { return const_cast<T&>(all[members.id(position)]); };
  std::vector<std::vector<LeafRef>> inputs;
  for (int i = 0; i < members.count(); ++i) {
    inputs.push_back(leaves_of(value(i)));
    if (!same_tree(value(0), value(i)) || !same_leaves(inputs.front(), inputs.back())) {
      throw_components_differ(all.present(), all.begin(), exchange.site);
    }
  }
  const std::vector<AxisCuts> cuts = cuts_of(exchange, inputs.front());
  const PartsReduction reduction{exchange, inputs, cuts};
  const auto place_of = [&](std::size_t leaf) {
    return place_in_value(describe_leaves(value(0)), leaf);
  };
  require_reduction(reduction, place_of);
  return for_each_own(exchange, own, [&](int position, Placement place) {
    return with_leaves(value(0), [&]<class Leaf>(const Leaf&, std::size_t index) {
      if constexpr (IsTensor<Leaf>::value) {
        return Leaf(reduce_part(reduction, index, position, place));
      } else {
        const std::int64_t* const begin = &cuts[index].begins[static_cast<std::size_t>(position)];
        Leaf part(static_cast<std::size_t>(begin[1] - begin[0]));
        reduce_part(reduction, index, position, part.data());
        return part;
      }
    });
  });
}

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
  const T& value = all[root_of(exchange)];
  std::vector<Placement> targets;
  targets.reserve(static_cast<std::size_t>(own.count()));
  for (int i = 0; i < own.count(); ++i) targets.push_back(exchange.core.placement(own.id(i)));
  return PerReplica<T>(copies_on(exchange.core, value, targets), own);
}

template <class T>
PerReplica<std::optional<T>> permute_values(const Exchange& exchange, const PerReplica<T>& all,
                                            const Participants& own) {
  const std::vector<int> senders = senders_of(exchange);
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
  return for_each_own(exchange, own, [&](int position, Placement place) {
    return placed_on<T>(parts[static_cast<std::size_t>(position)], place);
  });
}

template <class T>
PerReplica<T> scatter_along(const Exchange& exchange, const PerReplica<T>& all,
                            const Participants& own) {
  const T& whole = all[root_of(exchange)];
  const std::vector<AxisCuts> cuts = cuts_of(exchange, leaves_of(const_cast<T&>(whole)));
  return for_each_own(exchange, own, [&](int position, Placement place) {
    return with_leaves(whole, [&]<class Leaf>(const Leaf& leaf, std::size_t index) {
      if constexpr (IsTensor<Leaf>::value) {
        return Leaf(part_on(leaf.any(), cuts[index], position, place, exchange.site));
      } else {
        const std::int64_t* const begin = &cuts[index].begins[static_cast<std::size_t>(position)];
        return Leaf(leaf.begin() + begin[0], leaf.begin() + begin[1]);
      }
    });
  });
}

template <class T>
PerReplica<std::optional<T>> gather_values(const Exchange& exchange, const PerReplica<T>& all,
                                           const Participants& own) {
  const int root = root_of(exchange);
  if (has_tensor<T>()) require_all_replicas(exchange.core, all.size(), exchange.site);
  std::vector<const T*> parts;
  for (int i = 0; i < exchange.members.count(); ++i) {
    parts.push_back(&all[exchange.members.id(i)]);
  }
  const GatherCall call{exchange.core, all.present(), Axis(exchange.args.axis),
                        exchange.site, exchange.verb, root};
  // Processes without the root find the same errors.
  ReplicaArray<T> joined = gather_components(call, parts, own.has(root) ? 1 : 0);
  return for_each_own(exchange, own, [&](int position, Placement) {
    const bool is_root = exchange.members.id(position) == root;
    return is_root ? std::optional<T>(std::move(joined[0])) : std::nullopt;
  });
}

template <class Self>
template <MergeKind Kind, class T, class Values>
auto ExchangeVerbs<Self>::exchange(MergePlace place, T value, ExchangeArgs args,
                                   const Values& values_of) {
  const auto merge = [&values_of, ids = self().exchange_ids(), site = place.site](
                         CrossReplicaContext& cross, const PerReplica<T>& values,
                         const PerReplica<ExchangeArgs>& asked) {
    StrategyCore& core = cross.core();
    const char* const verb = to_string(Kind);
    const auto of_all = [&](const PerReplica<ExchangeArgs>& all_asked) {
      const ExchangeMembers members(ids, all_asked.present());
      const Exchange exchange{verb, core, members, agreed_args(verb, all_asked, site), site};
      return of_all_processes(core, verb, values, site, [&](const PerReplica<T>& all) {
        return values_of(exchange, all, values.present());
      });
    };
    return of_all_processes(core, verb, asked, site, of_all);
  };
  return self().template merge_at<Kind>(place, nullptr, merge, std::move(value), std::move(args));
}

template <class Self>
template <class T>
T ExchangeVerbs<Self>::reduce_scatter(ReduceOp op, T value, Axis axis,
                                      std::vector<std::int64_t> sizes, MergePlace place) {
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
std::vector<T> ExchangeVerbs<Self>::all_to_all(std::vector<T> parts, MergePlace place) {
  return exchange<MergeKind::kAllToAll>(place, std::move(parts), {}, all_to_all_values<T>);
}

template <class Self>
template <class T>
T ExchangeVerbs<Self>::broadcast(T value, int root, MergePlace place) {
  return exchange<MergeKind::kBroadcast>(place, std::move(value), {.root = root},
                                         broadcast_values<T>);
}

template <class Self>
template <class T>
std::optional<T> ExchangeVerbs<Self>::permute(T value,
                                              const std::vector<std::pair<int, int>>& pairs,
                                              MergePlace place) {
  std::vector<std::int64_t> ends;
  for (const auto& [sender, receiver] : pairs) ends.insert(ends.end(), {sender, receiver});
  return exchange<MergeKind::kPermute>(place, std::move(value), {.pairs = std::move(ends)},
                                       permute_values<T>);
}

template <class Self>
template <class T>
T ExchangeVerbs<Self>::scatter_from(std::vector<T> parts, int root, MergePlace place) {
  return exchange<MergeKind::kScatterFrom>(place, std::move(parts), {.root = root},
                                           scatter_parts<T>);
}

template <class Self>
template <class T>
T ExchangeVerbs<Self>::scatter_from(T value, Axis axis, int root, std::vector<std::int64_t> sizes,
                                    MergePlace place) {
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
std::optional<T> ExchangeVerbs<Self>::gather_to(T value, Axis axis, int root, MergePlace place) {
  if constexpr (require_axes<T>()) {
    return exchange<MergeKind::kGatherTo>(place, std::move(value),
                                          {.axis = axis.value, .root = root}, gather_values<T>);
  } else {
    return std::nullopt;
  }
}

}  // namespace belfry::detail
