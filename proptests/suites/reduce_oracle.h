// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/reduction.h"
#include "suites/sum_in_order.h"

#include <Eigen/Core>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

// Expected results of reductions, written from the rules and independent of the library: 16-bit
// floats through Eigen's conversions, integers through 64-bit arithmetic modulo 2^w.
namespace belfry::testing {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// The type of the additions.
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float,
                                std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>>;

template <class T>
Wide<T> widened(T value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(value.bits));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(value.bits));
  } else {
    return static_cast<Wide<T>>(value);
  }
}

template <class T>
T narrowed(Wide<T> value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return Float16::from_bits(Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16::from_bits(Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value)));
  } else {
    return static_cast<T>(value);
  }
}

/// The largest or the smallest part: NaN if a part is NaN, and +0 above -0 (SEM-252).
template <class T>
T expected_extreme(bool is_max, const std::vector<T>& parts) {
  // Whether `one` replaces the extreme `so_far`.
  const auto replaces = [is_max](T one, T so_far) {
    if constexpr (std::is_integral_v<T>) {
      return is_max ? one > so_far : one < so_far;
    } else {
      const auto a = widened(one);
      const auto b = widened(so_far);
      if (std::isnan(b)) return false;
      if (std::isnan(a)) return true;
      if (a == 0 && b == 0) return std::signbit(b) == is_max && std::signbit(a) != is_max;
      return is_max ? a > b : a < b;
    }
  };
  T extreme = parts.front();
  for (const T part : parts) {
    if (replaces(part, extreme)) extreme = part;
  }
  return extreme;
}

/// The reduction of an element over all replicas, rounded once.
template <class T>
T expected_element(ReduceOp op, const std::vector<T>& parts, ReductionOrder order,
                   std::size_t chunk) {
  if (op == ReduceOp::kMax || op == ReduceOp::kMin) {
    return expected_extreme(op == ReduceOp::kMax, parts);
  }
  if (op == ReduceOp::kProd) {
    std::vector<Factor<Wide<T>>> factors;
    for (T part : parts) factors.push_back({widened(part)});
    return narrowed<T>(sum_in_order(factors, order, chunk).value);
  }
  std::vector<Wide<T>> terms;
  for (T part : parts) terms.push_back(widened(part));
  Wide<T> sum = sum_in_order(terms, order, chunk);
  if (op == ReduceOp::kMean) sum /= static_cast<Wide<T>>(parts.size());
  return narrowed<T>(sum);
}

/// Element by element; `rows[r]` is the row of replica r.
template <class T>
std::vector<T> expected_reduction(ReduceOp op, const std::vector<std::vector<T>>& rows,
                                  ReductionOrder order = ReductionOrder::kReplicaOrder) {
  std::vector<T> out;
  const std::size_t length = (rows.front().size() + rows.size() - 1) / rows.size();
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    std::vector<T> parts;
    for (const std::vector<T>& row : rows) parts.push_back(row[i]);
    out.push_back(expected_element(op, parts, order, i / length));
  }
  return out;
}

/// Equal bits, or NaN in both. The rules leave the bits of a NaN open.
template <class T>
bool same_numbers(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) == 0) continue;
    if constexpr (std::is_integral_v<T>)
      return false;
    else if (!std::isnan(widened(a[i])) || !std::isnan(widened(b[i])))
      return false;
  }
  return true;
}

/// Numbers compared by same_numbers, and printed if an assertion fails.
template <class T>
struct Numbers {
  explicit Numbers(std::vector<T> all) : values(std::move(all)) {}

  friend bool operator==(const Numbers& a, const Numbers& b) {
    return same_numbers(a.values, b.values);
  }

  std::vector<T> values;
};

/// Prints enough digits to tell neighbouring numbers apart.
template <class T>
void showValue(const Numbers<T>& numbers, std::ostream& out) {
  const auto digits = out.precision(std::numeric_limits<Wide<T>>::max_digits10);
  out << to_string(dtype_of<T>()) << '[';
  const char* separator = "";
  for (const T value : numbers.values) {
    out << separator;
    if constexpr (std::is_integral_v<T>) {
      out << +value;
    } else {
      out << widened(value);
    }
    separator = ", ";
  }
  out << ']';
  out.precision(digits);
}

}  // namespace belfry::testing
