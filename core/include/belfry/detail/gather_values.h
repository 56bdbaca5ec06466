// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/mirror.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The task of a gather.
struct GatherCall {
  StrategyCore& core;
  const Participants& present;  ///< The replicas of the parts.
  Axis axis;
  CallSite site;
  std::string_view verb = "gather";
};

/// The axis, from 0, along which tensors of these shapes can be joined. Throws:
/// StructureMismatchError (kStructure) if ranks or other extents differ, InvalidArgumentError
/// (kShape) without this axis.
int gather_axis(const std::vector<Shape>& shapes, const GatherCall& call);

/// The parts joined along the axis: on replica 0's device, or on every replica's.
AnyTensor gather_tensors(const GatherCall& call, const std::vector<AnyTensor>& parts);
std::vector<AnyTensor> all_gather_tensors(const GatherCall& call,
                                          const std::vector<AnyTensor>& parts);

/// The address of each leaf, in order.
template <class T>
std::vector<const void*> leaf_addresses(const T& value) {
  std::vector<const void*> addresses;
  for_each_leaf(value, [&](const auto& leaf) { addresses.push_back(&leaf); });
  return addresses;
}

template <class E>
std::vector<E> gather_lists(const GatherCall& call,
                            const std::vector<const std::vector<E>*>& parts) {
  std::vector<Shape> shapes;
  shapes.reserve(parts.size());
  for (const std::vector<E>* part : parts) {
    shapes.push_back(Shape{static_cast<std::int64_t>(part->size())});
  }
  gather_axis(shapes, call);
  std::vector<E> all;
  for (const std::vector<E>* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

/// Sets a leaf of all `outs`, the components of the result, to the joined parts.
template <class Leaf>
void gather_leaf(const GatherCall& call, const std::vector<const Leaf*>& parts,
                 const std::vector<Leaf*>& outs) {
  static_assert(!Element<Leaf>,
                "gather joins vectors and tensors along an axis, and a number has none: put it "
                "into a std::vector");
  static_assert(!UserElement<Leaf>,
                "gather joins vectors of built-in numbers and tensors: take the components of a "
                "type of your own from the PerReplica of a merge_call");
  if constexpr (IsTensor<Leaf>::value) {
    std::vector<AnyTensor> plain;
    plain.reserve(parts.size());
    for (const Leaf* part : parts) plain.push_back(part->any());
    if (outs.size() == 1) {
      *outs.front() = Leaf(gather_tensors(call, plain));
      return;
    }
    std::vector<AnyTensor> joined = all_gather_tensors(call, plain);
    for (std::size_t i = 0; i < outs.size(); ++i) *outs[i] = Leaf(std::move(joined[i]));
  } else if constexpr (is_numeric_vector<Leaf>()) {
    const Leaf joined = gather_lists(call, parts);
    for (Leaf* out : outs) *out = joined;
  }
}

/// Joins the existing components leaf by leaf into `count` copies of the result: 1 on replica 0's
/// device, or a copy for each replica, on its device.
template <class T>
ReplicaArray<T> gather_components(StrategyCore& core, const PerReplica<T>& value, Axis axis,
                                  int count, CallSite site) {
  if (has_tensor<T>()) require_all_replicas(core, value.size(), site);
  std::vector<std::vector<const void*>> addresses;
  const Participants& present = value.present();
  const T& first = *value.begin();
  for (const T& own : value) {
    if (!same_tree(first, own)) throw_components_differ(present, value.begin(), site);
    addresses.push_back(leaf_addresses(own));
  }
  ReplicaArray<T> results(count);
  std::vector<std::vector<const void*>> targets;
  targets.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    targets.push_back(leaf_addresses(results.emplace_back(first)));
  }
  std::size_t index = 0;
  const GatherCall call{core, present, axis, site};
  for_each_leaf(results[0], [&](auto& leaf) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    std::vector<const Leaf*> parts;
    std::vector<Leaf*> outs;
    parts.reserve(addresses.size());
    outs.reserve(targets.size());
    for (const auto& part : addresses) parts.push_back(static_cast<const Leaf*>(part[index]));
    for (const auto& target : targets) {
      outs.push_back(const_cast<Leaf*>(static_cast<const Leaf*>(target[index])));
    }
    gather_leaf<Leaf>(call, parts, outs);
    ++index;
  });
  return results;
}

template <class T>
Mirrored<T> all_gather_value(StrategyCore& core, const PerReplica<T>& value, Axis axis,
                             CallSite site) {
  const int count = has_tensor<T>() ? std::max(core.own().count(), 1) : 1;
  return mirrored_on_own(core, gather_components(core, value, axis, count, site));
}

/// Throws StructureMismatchError unless all replicas named the same axis.
void require_same_axis(const PerReplica<int>& axes, CallSite site);

}  // namespace belfry::detail
