// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/integer_sums.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/nest.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Throws: InvalidArgumentError (kInvalidArgument) for the number of no operator; UnsupportedError
/// (kUnsupported) for MAX, MIN and PROD.
void require_linear(ReduceOp op, CallSite site);
/// Throws: InvalidArgumentError (kIntegerMean), (kDType) for bool, with the place of the first leaf
/// whose elements have no mean.
void require_mean(const std::vector<LeafRef>& leaves, LeafPlaces place, CallSite site);
/// Throws: InvalidArgumentError (kShape) unless `begin` to `begin + extent` lies in a list.
void require_part(std::size_t size, std::int64_t begin, std::int64_t extent, CallSite site);

/// The extents of each leaf on every replica, leaf after leaf; `all` has the extents of the
/// `leaves` leaves of replica after replica.
std::vector<std::int64_t> leaf_after_leaf(const std::vector<std::int64_t>& all, std::size_t leaves);
/// Throws: InvalidArgumentError (kShape) unless `sizes`, of leaf after leaf, add up to the extents
/// of the leaves of a cotangent.
void require_whole(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& sizes,
                   CallSite site);
/// Whether a sender has several receivers.
bool has_sender_of_several(std::vector<std::pair<int, int>> pairs);
/// Replaces the leaves of `parts.front()` by the sum over all parts, which are on this device.
void sum_into_first(std::span<const std::vector<LeafRef>> parts, CallSite site);

/// The sum of the terms, in order; nothing without a term. `ids[i]` is the replica of entry i.
/// Throws: StructureMismatchError (kStructure) if terms differ.
template <class T>
std::optional<T> sum_of(std::vector<std::optional<T>> terms, const std::vector<int>& ids,
                        CallSite site) {
  std::vector<T*> values;
  std::vector<std::vector<LeafRef>> parts;
  int first = -1;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!terms[i]) continue;
    values.push_back(&*terms[i]);
    parts.push_back(leaves_of(*terms[i]));
    if (first < 0) first = ids[i];
    if (same_tree(*values.front(), *values.back()) && same_leaves(parts.front(), parts.back())) {
      continue;
    }
    throw_structures_differ(ids[i], describe_leaves(*values.front()),
                            describe_leaves(*values.back()), site, first);
  }
  if (values.empty()) return std::nullopt;
  if (values.size() > 1) sum_into_first(parts, site);
  return std::move(*values.front());
}

/// Throws: StructureMismatchError (kStructure).
[[noreturn]] void throw_other_cotangent(const std::vector<LeafDescription>& gathered,
                                        const std::vector<LeafDescription>& cotangent,
                                        CallSite site);
/// Throws: StructureMismatchError (kStructure) unless a cotangent has the leaves and keys of the
/// gathered value.
template <class T>
void require_tree_of(const T& gathered, const T& cotangent, CallSite site) {
  if (same_tree(gathered, cotangent)) return;
  throw_other_cotangent(describe_leaves(gathered), describe_leaves(cotangent), site);
}

/// The extent of each leaf along the axis.
template <class T>
std::vector<std::int64_t> extents_along(const T& value, Axis axis, CallSite site) {
  std::vector<std::int64_t> extents;
  for_each_leaf(value, [&](const auto& leaf) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    static_assert(!Element<Leaf> && !UserElement<Leaf>,
                  "a number has no axis: put it into a std::vector");
    if constexpr (IsTensor<Leaf>::value) {
      extents.push_back(leaf.shape().extent(axis_of(leaf.shape(), axis, "gather", site)));
    } else if constexpr (is_numeric_vector<Leaf>()) {
      const auto size = static_cast<std::int64_t>(leaf.size());
      axis_of(Shape{size}, axis, "gather", site);
      extents.push_back(size);
    }
  });
  return extents;
}

/// Keeps `extents[i]` elements of leaf i along the axis, from `begins[i]` on.
template <class T>
void cut_leaves(T& value, Axis axis, const std::vector<std::int64_t>& begins,
                const std::vector<std::int64_t>& extents, CallSite site) {
  std::size_t index = 0;
  for_each_leaf(value, [&](auto& leaf) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    const std::int64_t begin = begins[index];
    const std::int64_t extent = extents[index++];
    if constexpr (IsTensor<Leaf>::value) {
      leaf = slice(leaf, axis, begin, begin + extent, site);
    } else if constexpr (is_numeric_vector<Leaf>()) {
      require_part(leaf.size(), begin, extent, site);
      leaf = Leaf(leaf.begin() + begin, leaf.begin() + begin + extent);
    }
  });
}

/// Divides each element, rounding once. Throws: as require_mean, before anything is divided.
template <class T>
void divide_leaves(T& value, int by, CallSite site) {
  const auto place = [&value](std::size_t leaf) {
    return place_in_value(describe_leaves(value), leaf);
  };
  require_mean(leaves_of(value), place, site);
  for_each_leaf(value, [&](auto& leaf) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (IsTensor<Leaf>::value) {
      leaf = Leaf(divided_once(leaf.any(), by, "reduce_vjp", site));
    } else if constexpr (Element<Leaf>) {
      leaf = divided_once(leaf, by);
    } else if constexpr (UserElement<Leaf>) {
      if constexpr (DividedElement<Leaf>) leaf = ElementTraits<Leaf>::divide(leaf, by);
    } else {
      for (auto& element : leaf) element = divided_once(element, by);
    }
  });
}

}  // namespace belfry::detail
