// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suites/crossed/crossed_case.h"
#include "suites/crossed/crossed_places.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

// The second implementation of SEM-32, SEM-146 and SEM-147: loops over values, without plans and
// trees of the library.
namespace belfry::testing::crossed {

inline bool is_power_of_two(int number) {
  return std::has_single_bit(static_cast<unsigned>(number));
}

/// The own order of the algorithm without packs; `native` is the order of the communicator.
inline ReductionOrder own_order(const Case& drawn, ReductionOrder native) {
  switch (drawn.route) {
    case Route::kNoneGiven:
    case Route::kNative:
      return native;
    case Route::kToOneDevice:
    case Route::kShuffle:
      return ReductionOrder::kReplicaOrder;
    case Route::kRing:
      return ReductionOrder::kRing;
    case Route::kRingWithOptions: {
      const RingOptions ring = drawn.ring();
      const bool is_plain = ring.subchunks == 1 && ring.start % drawn.members() == 0 &&
                            std::ranges::is_sorted(ring.permutation);
      return is_plain ? ReductionOrder::kRing : ReductionOrder::kUnspecified;
    }
    case Route::kTree:
      return ReductionOrder::kTree;
    case Route::kHalvingDoubling:
      return is_power_of_two(drawn.members()) ? ReductionOrder::kTree
                                              : ReductionOrder::kUnspecified;
    case Route::kHierarchical:
      return ReductionOrder::kUnspecified;
  }
  return ReductionOrder::kUnspecified;
}

/// Whether a strategy accepts the order that the case names (the table of SEM-146).
inline bool is_accepted(const Case& drawn, ReductionOrder native) {
  if (!drawn.order) return true;
  const ReductionOrder own = own_order(drawn, native);
  const bool has_every_order =
      drawn.route == Route::kNoneGiven || drawn.route == Route::kToOneDevice;
  const bool is_possible = has_every_order || *drawn.order == own;
  if (!drawn.packed) return is_possible;
  const bool is_kept = own == ReductionOrder::kReplicaOrder || own == ReductionOrder::kTree;
  if (*drawn.order == (is_kept ? own : ReductionOrder::kUnspecified)) return true;
  return is_possible && *drawn.order != ReductionOrder::kRing;
}

template <class W>
W sum_in_groups(const std::vector<std::vector<int>>& groups, const std::vector<W>& terms) {
  std::vector<W> sums;
  for (const std::vector<int>& group : groups) {
    std::vector<W> own;
    for (const int member : group) own.push_back(terms[static_cast<std::size_t>(member)]);
    sums.push_back(sum_in_order(own, ReductionOrder::kReplicaOrder, 0));
  }
  return sum_in_order(sums, ReductionOrder::kReplicaOrder, 0);
}

/// Groups of ceil(sqrt N) neighbours.
inline std::vector<std::vector<int>> square_groups(int members) {
  int size = 1;
  while (size * size < members) ++size;
  std::vector<std::vector<int>> groups(static_cast<std::size_t>((members + size - 1) / size));
  for (int member = 0; member < members; ++member) {
    groups[static_cast<std::size_t>(member / size)].push_back(member);
  }
  return groups;
}

/// Pairs of the first members, until a power of two is left; then the tree.
template <class W>
W sum_by_halving(const std::vector<W>& terms) {
  const std::size_t pairs = terms.size() - std::bit_floor(terms.size());
  std::vector<W> left;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    left.push_back(terms[2 * pair] + terms[2 * pair + 1]);
  }
  for (std::size_t member = 2 * pairs; member < terms.size(); ++member) {
    left.push_back(terms[member]);
  }
  return sum_in_order(left, ReductionOrder::kTree, 0);
}

/// The additions in one of several rings; neighbouring chunks take turns.
template <class W>
W sum_in_a_ring(const RingOptions& options, const std::vector<W>& terms, const Place& place) {
  const std::size_t members = terms.size();
  const auto rings = static_cast<std::size_t>(options.subchunks);
  const std::size_t replicas = members / static_cast<std::size_t>(options.hosts);
  const std::size_t chunks = members * rings;
  const std::size_t chunk = place.index / ((place.length + chunks - 1) / chunks);
  const std::size_t turn = chunk % rings * std::max<std::size_t>(1, replicas / rings);
  const std::size_t start = chunk / rings + static_cast<std::size_t>(options.start);
  std::vector<W> in_order;
  for (std::size_t step = 0; step < members; ++step) {
    const std::size_t at = (start + step) % members;
    const auto of_host = static_cast<std::size_t>(options.permutation[(at + turn) % replicas]);
    in_order.push_back(terms[at / replicas * replicas + of_host]);
  }
  return sum_in_order(in_order, ReductionOrder::kReplicaOrder, 0);
}

/// The sum of an element of a leaf; none if the rules leave the additions open.
template <class W>
std::optional<W> stated_sum(const Case& drawn, ReductionOrder native, bool is_tensor,
                            const std::vector<W>& terms, const Place& place) {
  const bool adds_in_every_order =
      drawn.route == Route::kNoneGiven || drawn.route == Route::kToOneDevice;
  const ReductionOrder own = own_order(drawn, native);
  ReductionOrder order = ReductionOrder::kReplicaOrder;  // Of leaves in host memory.
  if (drawn.order && (!is_tensor || adds_in_every_order)) {
    order = *drawn.order;
  } else if (is_tensor) {
    if (drawn.route == Route::kRingWithOptions) return sum_in_a_ring(drawn.ring(), terms, place);
    if (drawn.route == Route::kHalvingDoubling) return sum_by_halving(terms);
    if (drawn.route == Route::kHierarchical) {
      const auto groups = drawn.groups();
      return sum_in_groups(groups.empty() ? square_groups(drawn.members()) : groups, terms);
    }
    order = own;
  }
  if (order == ReductionOrder::kUnspecified) return std::nullopt;
  const std::size_t length = (place.length + terms.size() - 1) / terms.size();
  return sum_in_order(terms, order, place.index / length);
}

// Numbers as integers of 128 bits, in units of 2^-kUnit. Drawn numbers are multiples of 2^-50 below
// 64; sums of 17 are exact.
__extension__ using Int128 = __int128;
inline constexpr int kUnit = 60;

inline Int128 in_units(double number) { return static_cast<Int128>(std::ldexp(number, kUnit)); }

/// Whether a product is as near to the exact product as every order of multiplications is; true if
/// some order may leave the normal numbers of the type of the steps. Each of N - 1 multiplications
/// errs by u, with all of them by less than N u of the product; the product of at most 17 doubles
/// in long double by far less. A 16-bit float is rounded once more, by 2^-11 or 2^-8 of the result,
/// or by 2^-25 below the normal numbers.
template <class T>
bool is_near_the_product(const std::vector<T>& terms, T result) {
  // In units of powers of 2, of all partial products.
  double most = 0;
  long double product = 1;
  for (const T term : terms) {
    const auto number = static_cast<double>(widened(term));
    if (!std::isfinite(number) || number == 0) return true;
    most += std::abs(std::log2(std::abs(number))) + 1;
    product *= number;
  }
  if (most > (std::is_same_v<T, double> ? 1000 : std::is_same_v<T, Float16> ? 14 : 120))
    return true;
  const auto error = std::abs(static_cast<long double>(widened(result)) - product);
  constexpr int bits = std::is_same_v<T, double> ? 53 : 24;
  long double relative = std::ldexp(static_cast<long double>(terms.size() + 1), -bits);
  if constexpr (kIsHalf<T>) relative += std::is_same_v<T, Float16> ? 1.0L / 2047 : 1.0L / 255;
  return error <= relative * std::abs(product) + (kIsHalf<T> ? std::ldexp(1.0L, -25) : 0);
}

/// Whether a result is as near to the exact sum, mean or product as every order of steps is; true
/// for extremes, which are exact, and if a term is not finite. With u the unit of rounding of the
/// additions, and A the sum of absolute values: N - 1 additions err by (N - 1) u / (1 - (N - 1) u)
/// A < N u A, and the division by one u more. A 16-bit float is rounded once more, by 2^-11 or 2^-8
/// of the result, or by 2^-25.
template <class T>
bool is_near_the_exact(ReduceOp op, const std::vector<T>& terms, T result) {
  if (op == ReduceOp::kProd) return is_near_the_product(terms, result);
  if (op == ReduceOp::kMax || op == ReduceOp::kMin) return true;
  const bool is_mean = op == ReduceOp::kMean;
  const auto members = static_cast<Int128>(terms.size());
  Int128 sum = 0;
  Int128 magnitude = 0;
  for (const T term : terms) {
    const auto number = static_cast<double>(widened(term));
    if (!std::isfinite(number)) return true;
    sum += in_units(number);
    magnitude += in_units(std::abs(number));
  }
  const Int128 factor = is_mean ? members : 1;
  const Int128 error = in_units(static_cast<double>(widened(result))) * factor - sum;
  constexpr int bits = std::is_same_v<T, double> ? 53 : 24;
  Int128 bound = (members + (is_mean ? 1 : 0)) * magnitude / (Int128{1} << bits) + 2 * factor;
  if constexpr (kIsHalf<T>) {
    bound += magnitude / (std::is_same_v<T, Float16> ? 2047 : 255) +
             factor * (Int128{1} << (kUnit - 25));
  }
  return error <= bound && -error <= bound;
}

}  // namespace belfry::testing::crossed
