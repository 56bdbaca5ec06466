// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/exchange_call.h"
#include "belfry/detail/gather_values.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/tensor_moves.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// Exchanges of parts along an axis.
namespace belfry::detail {

/// Where values of a shape are cut into parts.
struct AxisCuts {
  int axis = 0;                        ///< From 0.
  std::vector<std::int64_t> begins{};  ///< Of each part, and the extent.
};
/// The cuts of each leaf. Throws: InvalidArgumentError (kShape) without the axis, or if sizes do
/// not add up to the extent; (kInvalidArgument) for a wrong number of sizes.
std::vector<AxisCuts> cuts_of(const Exchange& exchange, const std::vector<LeafRef>& leaves);

/// Parts of tensors, by leaf and position, each on the device of its replica and in storage of its
/// own. Empty for host leaves and for positions of other processes.
using PartsOfLeaves = std::vector<std::vector<AnyTensor>>;
/// The parts of the tensors among `leaves` of replica `root`.
PartsOfLeaves scattered_parts(const Exchange& exchange, int root,
                              const std::vector<LeafRef>& leaves, const std::vector<AxisCuts>& cuts,
                              const Participants& own);

/// A reduction of which each replica gets a part.
struct PartsReduction {
  const Exchange& exchange;
  const std::vector<std::vector<LeafRef>>& inputs;  ///< The leaves of each position.
  const std::vector<AxisCuts>& cuts;                ///< Of each leaf.
};
/// Throws: InvalidArgumentError (kIntegerMean, kDType, kInvalidArgument, kSumOverflow), with
/// `place` for the leaf.
void require_reduction(const PartsReduction& reduction, LeafPlaces place);
/// Sets `out` to part `part` of the reduction of a host leaf. Each element has the additions of
/// all_reduce.
void reduce_part(const PartsReduction& reduction, std::size_t leaf, int part, void* out);
/// The parts of the reductions of tensors, with the same additions.
PartsOfLeaves reduced_parts(const PartsReduction& reduction, const Participants& own);

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
  PartsOfLeaves tensors = reduced_parts(reduction, own);
  return for_each_own(exchange, own, [&](int position, Placement) {
    return with_leaves(value(0), [&]<class Leaf>(const Leaf&, std::size_t index) {
      if constexpr (IsTensor<Leaf>::value) {
        return Leaf(std::move(tensors[index][static_cast<std::size_t>(position)]));
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
PerReplica<T> scatter_along(const Exchange& exchange, const PerReplica<T>& all,
                            const Participants& own) {
  const int root = root_of(exchange);
  const T& whole = all[root];
  const std::vector<LeafRef> leaves = leaves_of(const_cast<T&>(whole));
  const std::vector<AxisCuts> cuts = cuts_of(exchange, leaves);
  PartsOfLeaves tensors = scattered_parts(exchange, root, leaves, cuts, own);
  return for_each_own(exchange, own, [&](int position, Placement) {
    return with_leaves(whole, [&]<class Leaf>(const Leaf& leaf, std::size_t index) {
      if constexpr (IsTensor<Leaf>::value) {
        return Leaf(std::move(tensors[index][static_cast<std::size_t>(position)]));
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
  if (exchange.on_devices) {
    gather_components(call, parts, 0);  // The checks.
    TensorMoves moves(exchange.core, true);
    for (int i = 0; i < exchange.members.count(); ++i) {
      moves.add_all(*parts[static_cast<std::size_t>(i)], exchange.members.id(i), {root});
    }
    moves.run(exchange.site);
  }
  // Processes without the root find the same errors.
  ReplicaArray<T> joined = gather_components(call, parts, own.has(root) ? 1 : 0);
  return for_each_own(exchange, own, [&](int position, Placement) {
    const bool is_root = exchange.members.id(position) == root;
    return is_root ? std::optional<T>(std::move(joined[0])) : std::nullopt;
  });
}

}  // namespace belfry::detail
