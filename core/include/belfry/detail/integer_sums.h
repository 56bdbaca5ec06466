// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/dtype.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Whether two lists of leaves agree in number, counts and types.
bool same_leaves(const std::vector<LeafRef>& a, const std::vector<LeafRef>& b);

/// target[i] = target[i] op delta[i] for every leaf. `variable` is the name of the variable with
/// the leaves, if any. Throws: StructureMismatchError if the leaves differ in number,
/// count or type, InvalidArgumentError (kDType) if a type has no such operation; then nothing has
/// changed.
void combine_leaves(AssignOp op, std::vector<LeafRef> target, std::vector<LeafRef> delta,
                    CallSite site = {}, std::string_view variable = {});

/// Throws StructureMismatchError (kStructure) with the first different leaf of `value`.
[[noreturn]] void throw_other_structure(std::string_view variable,
                                        const std::vector<LeafDescription>& target,
                                        const std::vector<LeafDescription>& value, CallSite site);

/// Sets `target`, a component of `variable`, to `value`, or adds or subtracts `value` leaf by leaf.
/// Callers have tested that T is a nest.
template <Nest T>
void apply_assign(AssignOp op, T& target, T value, std::string_view variable, CallSite site) {
  if (op == AssignOp::kSet) {
    target = std::move(value);
  } else {
    std::vector<LeafRef> to = leaves_of(target);
    std::vector<LeafRef> delta = leaves_of(value);
    // Leaves of the same types may have other keys.
    if (!same_tree(target, value) || !same_leaves(to, delta)) {
      throw_other_structure(variable, describe_leaves(target), describe_leaves(value), site);
    }
    combine_leaves(op, std::move(to), std::move(delta), site, variable);
  }
}

/// Each element divided by a number, rounded once: 16-bit floats are divided as floats, since they
/// may not hold a number of replicas (SEM-31). Integers are divided towards zero.
AnyTensor divided_once(const AnyTensor& tensor, int by, std::string_view what, CallSite site);

template <Element E>
E divided_once(E value, int by) {
  if constexpr (!std::is_integral_v<E> && sizeof(E) == 2) {
    return static_cast<E>(static_cast<float>(value) / static_cast<float>(by));
  } else {
    return static_cast<E>(value / static_cast<E>(by));
  }
}

__extension__ using Int128 = __int128;

/// The sums of the integer leaves of a nest, wide enough for 2^30 terms (SEM-141). Leaves of
/// floating-point numbers have no sum here.
class IntegerSums {
 public:
  /// The sums of a single term: the values of the leaves. Order: work on tensors is enqueued.
  /// Throws: InvalidArgumentError (kDType) for bool, (kInvalidArgument) for a default-constructed
  /// tensor; DeviceError (kOutOfMemory).
  explicit IntegerSums(const std::vector<LeafRef>& leaves);
  /// Adds the sums of a nest with the same structure and the same devices of tensors.
  void add(const IntegerSums& terms);
  /// Divides each sum by the number of terms, towards zero, and writes the quotient to the leaf.
  /// `leaves` belong to the nest that the sums were made of.
  void divide_into(const std::vector<LeafRef>& leaves, int terms) const;

 private:
  // The sum of a leaf. All members are empty for a leaf of floating-point numbers.
  struct LeafSum {
    std::vector<std::int64_t> narrow;  // Host elements of up to 32 bits.
    std::vector<Int128> wide;          // Host elements of 64 bits.
    // Of tensors: high * 2^32 + low. Elements of up to 32 bits have `low` alone, in int64.
    AnyTensor low;
    AnyTensor high;
  };

  static LeafSum sum_of(const LeafRef& leaf);

  std::vector<LeafSum> sums_;
};

/// The folded type of TruncatedMean: sums of integer leaves, and a value for the structure and the
/// sums of the other leaves.
template <Nest T>
struct TruncatedSum {
  T value;
  IntegerSums integers;

  explicit TruncatedSum(const T& own) : value(own), integers(leaves_of(value)) {}
};

/// Adds the leaves of floating-point numbers in their own type.
void add_floating_leaves(const std::vector<LeafRef>& target, const std::vector<LeafRef>& delta);

}  // namespace belfry::detail
