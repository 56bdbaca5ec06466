// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/fold_of_list.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
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
  int root = 0;  ///< The replica on whose device tensors are joined.
};

/// The axis, from 0, along which tensors of these shapes can be joined. Throws:
/// StructureMismatchError (kStructure) if ranks or other extents differ, InvalidArgumentError
/// (kShape) without this axis.
int gather_axis(const std::vector<Shape>& shapes, const GatherCall& call);

/// The parts joined along the axis: on the root's device, or on every replica's.
AnyTensor gather_tensors(const GatherCall& call, const std::vector<AnyTensor>& parts);
std::vector<AnyTensor> all_gather_tensors(const GatherCall& call,
                                          const std::vector<AnyTensor>& parts);
/// Throws as these, and joins nothing.
void require_joinable(const GatherCall& call, const std::vector<AnyTensor>& parts);

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
    if (outs.empty()) return require_joinable(call, plain);
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

/// Joins parts leaf by leaf into `count` copies of the result: none, 1 on the root's device, or a
/// copy for each replica, on its device.
template <class T>
ReplicaArray<T> gather_components(const GatherCall& call, const std::vector<const T*>& parts,
                                  int count) {
  std::vector<std::vector<const void*>> addresses;
  const T& first = *parts.front();
  for (const T* own : parts) {
    if (!same_tree(first, *own)) {
      std::vector<std::vector<LeafDescription>> all;
      for (const T* part : parts) all.push_back(describe_leaves(*part));
      throw_structures_differ(call.present, all, call.site);
    }
    addresses.push_back(leaf_addresses(*own));
  }
  ReplicaArray<T> results(count);
  std::vector<std::vector<const void*>> targets;
  targets.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    targets.push_back(leaf_addresses(results.emplace_back(first)));
  }
  std::size_t index = 0;
  for_each_leaf(first, [&](const auto& leaf) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    std::vector<const Leaf*> leaves;
    std::vector<Leaf*> outs;
    leaves.reserve(addresses.size());
    outs.reserve(targets.size());
    for (const auto& part : addresses) leaves.push_back(static_cast<const Leaf*>(part[index]));
    for (const auto& target : targets) {
      outs.push_back(const_cast<Leaf*>(static_cast<const Leaf*>(target[index])));
    }
    gather_leaf<Leaf>(call, leaves, outs);
    ++index;
  });
  return results;
}
/// The same for the existing components of a value.
template <class T>
ReplicaArray<T> gather_components(StrategyCore& core, const PerReplica<T>& value, Axis axis,
                                  int count, CallSite site) {
  if (has_tensor<T>()) require_all_replicas(core, value.size(), site);
  std::vector<const T*> parts;
  for (const T& part : value) parts.push_back(&part);
  return gather_components(GatherCall{core, value.present(), axis, site}, parts, count);
}

template <class T>
Mirrored<T> all_gather_value(StrategyCore& core, const PerReplica<T>& value, Axis axis,
                             CallSite site) {
  const int count = has_tensor<T>() ? std::max(core.own().count(), 1) : 1;
  return mirrored_on_own(core, gather_components(core, value, axis, count, site));
}

/// Throws StructureMismatchError unless all replicas named the same axis.
void require_same_axis(const PerReplica<int>& axes, CallSite site);

/// Checks the arguments of an axis reduction, and returns the number of elements along the axis,
/// over all replicas.
/// Throws: InvalidArgumentError (kShape, kDType, kIntegerMean), StructureMismatchError.
std::int64_t axis_count(const GatherCall& call, ReduceOp op, DType dtype,
                        const std::vector<Shape>& shapes);

/// The reduction over the axis and over the replicas that are present, on the device of each.
std::vector<AnyTensor> reduce_tensors_along(const GatherCall& call, ReduceOp op,
                                            const std::vector<AnyTensor>& parts);

template <class E>
Mirrored<E> reduce_along(StrategyCore& core, ReduceOp op, const PerReplica<std::vector<E>>& value,
                         Axis axis, CallSite site) {
  using C = FoldOf<E>;
  std::vector<Shape> shapes;
  ReplicaArray<C> folds(value.present().count());
  for (const std::vector<E>& part : value) {
    shapes.push_back(Shape{static_cast<std::int64_t>(part.size())});
    folds.emplace_back(fold_of_list(op, part));
  }
  const GatherCall call{core, value.present(), axis, site, "reduce"};
  const std::int64_t count = axis_count(call, op, dtype_of<E>(), shapes);
  const PerReplica<C> parts(std::move(folds), value.present());
  C total = reduce_value(core, partial_op(op), parts, site).value();
  if constexpr (!std::is_integral_v<E>) {
    if (op == ReduceOp::kMean) total /= static_cast<C>(count);
  }
  ReplicaArray<E> shared(1);
  shared.emplace_back(static_cast<E>(total));
  return Mirrored<E>(value.size(), std::move(shared));
}

template <class E>
Mirrored<Tensor<E>> reduce_along(StrategyCore& core, ReduceOp op,
                                 const PerReplica<Tensor<E>>& value, Axis axis, CallSite site) {
  require_all_replicas(core, value.size(), site);
  std::vector<AnyTensor> parts;
  parts.reserve(static_cast<std::size_t>(value.present().count()));
  for (const Tensor<E>& part : value) parts.push_back(part.any());
  const GatherCall call{core, value.present(), axis, site, "reduce"};
  ReplicaArray<Tensor<E>> components(value.present().count());
  for (AnyTensor& part : reduce_tensors_along(call, op, parts)) {
    components.emplace_back(Tensor<E>(std::move(part)));
  }
  return spread(core, components, value.present());
}

/// Throws InvalidArgumentError (kInvalidArgument): there is nothing to reduce.
[[noreturn]] void throw_nothing_to_reduce(CallSite site);

/// The reduction over all elements of all lists, in replica order, on every replica.
template <class R>
Mirrored<R> reduce_lists(StrategyCore& core, ReduceOp op, const PerReplica<std::vector<R>>& lists,
                         CallSite site) {
  std::vector<R> elements;
  std::vector<std::vector<LeafRef>> parts;
  for (const std::vector<R>& list : lists) {
    elements.insert(elements.end(), list.begin(), list.end());
  }
  if (elements.empty()) throw_nothing_to_reduce(site);
  parts.reserve(elements.size());
  for (R& element : elements) parts.push_back(leaves_of(element));
  std::size_t index = 0;
  int first = -1;  // The replica of the first element.
  for (const std::vector<R>& list : lists) {
    const int own = lists.present().id(static_cast<int>(&list - lists.begin()));
    if (first < 0 && !list.empty()) first = own;
    for (const R& element : list) {
      if (!same_tree(elements.front(), element) || !same_leaves(parts.front(), parts[index++])) {
        throw_structures_differ(own, describe_leaves(elements.front()), describe_leaves(element),
                                site, first);
      }
    }
  }
  const auto place = [&elements](std::size_t leaf) {
    const std::string text = place_in_value(describe_leaves(elements.front()), leaf);
    return text.empty() ? text : text + " of every element";
  };
  fold_at(site, core, op, parts, place);
  return mirror(core, elements.front());
}

}  // namespace belfry::detail
