// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <cstdint>
#include <vector>

namespace belfry::detail {

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
