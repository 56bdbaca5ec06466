// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/gather_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Checks the arguments of an axis reduction, and returns the number of elements along the axis,
/// over all replicas.
/// Throws: InvalidArgumentError (kShape, kDType, kIntegerMean), StructureMismatchError.
std::int64_t axis_count(const GatherCall& call, ReduceOp op, DType dtype,
                        const std::vector<Shape>& shapes);

/// The reduction over the axis and over the replicas that are present, on the device of each.
std::vector<AnyTensor> reduce_tensors_along(const GatherCall& call, ReduceOp op,
                                            const std::vector<AnyTensor>& parts);

/// The type a sum is kept in until it is stored: float for 16-bit floats, unsigned for integers,
/// so that they wrap.
template <class E>
using SumOf = typename std::conditional_t<
    std::is_integral_v<E>, std::make_unsigned<std::conditional_t<std::is_integral_v<E>, E, int>>,
    std::type_identity<std::conditional_t<sizeof(E) == 2, float, E>>>::type;

template <class E>
SumOf<E> sum_of(const std::vector<E>& values) {
  if (values.empty()) return SumOf<E>(0);
  auto sum = static_cast<SumOf<E>>(values.front());
  for (std::size_t i = 1; i < values.size(); ++i) {
    sum = static_cast<SumOf<E>>(sum + static_cast<SumOf<E>>(values[i]));
  }
  return sum;
}

template <class E>
Mirrored<E> reduce_along(StrategyCore& core, ReduceOp op, const PerReplica<std::vector<E>>& value,
                         Axis axis, CallSite site) {
  std::vector<Shape> shapes;
  ReplicaArray<SumOf<E>> sums(value.present().count());
  for (const std::vector<E>& part : value) {
    shapes.push_back(Shape{static_cast<std::int64_t>(part.size())});
    sums.emplace_back(sum_of(part));
  }
  const GatherCall call{core, value.present(), axis, site, "reduce"};
  const std::int64_t count = axis_count(call, op, dtype_of<E>(), shapes);
  const PerReplica<SumOf<E>> parts(std::move(sums), value.present());
  SumOf<E> total = reduce_value(core, ReduceOp::kSum, parts, site).value();
  if constexpr (!std::is_integral_v<E>) {
    if (op == ReduceOp::kMean) total /= static_cast<SumOf<E>>(count);
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
