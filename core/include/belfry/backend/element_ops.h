// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_math.h"
#include "belfry/backend/element_types.h"
#include "belfry/backend/kernel.h"
#include "belfry/dtype.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

/// The operations of kernels on one element, shared by host and GPU kernels. C is the type of the
/// computation: float, double, an integer or bool. Floating-point results that are NaN are always
/// the same NaN. Integers wrap modulo 2^w, and x / 0 is 0.
namespace belfry::element {

namespace detail {
/// Unsigned arithmetic that wraps and is not promoted to int.
template <class C>
using Wrapping = std::conditional_t<(sizeof(C) < 4), std::uint32_t, std::make_unsigned_t<C>>;

template <class C>
BELFRY_HOST_DEVICE constexpr C divide_integers(C left, C right) {
  if (right == 0) return 0;
  if constexpr (std::is_signed_v<C>) {
    // The quotient lowest / -1 does not fit, and wraps.
    if (right == -1) return static_cast<C>(Wrapping<C>{0} - static_cast<Wrapping<C>>(left));
  }
  return static_cast<C>(left / right);
}
}  // namespace detail

/// The larger operand; NaN if either is NaN; `left` if both are equal (also zeros of both signs).
template <class C>
BELFRY_HOST_DEVICE constexpr C maximum(C left, C right) {
  if constexpr (std::is_floating_point_v<C>) {
    return canonical(((left < right) | (right != right)) ? right : left);
  } else {
    return left < right ? right : left;
  }
}

/// The smaller operand; NaN if either is NaN; `left` if both are equal (also zeros of both signs).
template <class C>
BELFRY_HOST_DEVICE constexpr C minimum(C left, C right) {
  if constexpr (std::is_floating_point_v<C>) {
    return canonical(((right < left) | (right != right)) ? right : left);
  } else {
    return right < left ? right : left;
  }
}

/// The larger operand, the same for `left` and `right` exchanged: +0 is larger than -0. NaN if
/// either is NaN; folds make it canonical.
template <class C>
BELFRY_HOST_DEVICE constexpr C greatest(C left, C right) {
  const C larger = left < right ? right : left;
  if constexpr (std::is_floating_point_v<C>) {
    // Equal numbers have equal bits, but for zeros.
    const C number = left == right ? from_bits<C>(to_bits(left) & to_bits(right)) : larger;
    return right != right ? right : number;
  } else {
    return larger;
  }
}

/// The smaller operand, the same for `left` and `right` exchanged: -0 is smaller than +0. NaN if
/// either is NaN; folds make it canonical.
template <class C>
BELFRY_HOST_DEVICE constexpr C least(C left, C right) {
  const C smaller = right < left ? right : left;
  if constexpr (std::is_floating_point_v<C>) {
    const C number = left == right ? from_bits<C>(to_bits(left) | to_bits(right)) : smaller;
    return right != right ? right : number;
  } else {
    return smaller;
  }
}

template <BinaryOp op, class C>
BELFRY_HOST_DEVICE constexpr C apply(C left, C right) {
  if constexpr (op == BinaryOp::kMaximum) {
    return maximum(left, right);
  } else if constexpr (op == BinaryOp::kMinimum) {
    return minimum(left, right);
  } else if constexpr (std::is_floating_point_v<C>) {
    if constexpr (op == BinaryOp::kAdd) return canonical(left + right);
    if constexpr (op == BinaryOp::kSubtract) return canonical(left - right);
    if constexpr (op == BinaryOp::kMultiply) return canonical(left * right);
    if constexpr (op == BinaryOp::kDivide) return canonical(left / right);
  } else {
    using W = detail::Wrapping<C>;
    const auto a = static_cast<W>(+left);
    const auto b = static_cast<W>(+right);
    if constexpr (op == BinaryOp::kAdd) return static_cast<C>(a + b);
    if constexpr (op == BinaryOp::kSubtract) return static_cast<C>(a - b);
    if constexpr (op == BinaryOp::kMultiply) return static_cast<C>(a * b);
    if constexpr (op == BinaryOp::kDivide) return detail::divide_integers(left, right);
  }
}

/// `scalar` is used by kScale and kShift alone.
template <UnaryOp op, class C>
BELFRY_HOST_DEVICE constexpr C apply(C x, C scalar) {
  constexpr bool kFloat = std::is_floating_point_v<C>;
  if constexpr (op == UnaryOp::kNegate) {
    if constexpr (kFloat)
      return canonical(from_bits<C>(to_bits(x) ^ Format<C>::kSign));
    else
      return apply<BinaryOp::kSubtract>(C(0), x);
  } else if constexpr (op == UnaryOp::kAbs) {
    if constexpr (kFloat)
      return canonical(from_bits<C>(to_bits(x) & ~Format<C>::kSign));
    else
      return x < C(0) ? apply<BinaryOp::kSubtract>(C(0), x) : x;
  } else if constexpr (op == UnaryOp::kSquare) {
    return apply<BinaryOp::kMultiply>(x, x);
  } else if constexpr (op == UnaryOp::kScale) {
    return apply<BinaryOp::kMultiply>(x, scalar);
  } else if constexpr (op == UnaryOp::kShift) {
    return apply<BinaryOp::kAdd>(x, scalar);
  } else if constexpr (op == UnaryOp::kStep) {
    return x > C(0) ? C(1) : C(0);
  } else if constexpr (op == UnaryOp::kRelu) {
    if constexpr (kFloat)
      return canonical(((x > C(0)) | (x != x)) ? x : C(0));
    else
      return x > C(0) ? x : C(0);
  } else if constexpr (kFloat) {
    if constexpr (op == UnaryOp::kSqrt) return canonical(std::sqrt(x));
    if constexpr (op == UnaryOp::kReciprocal) return canonical(C(1) / x);
    if constexpr (op == UnaryOp::kExp) return exp(x);
    if constexpr (op == UnaryOp::kLog) return log(x);
    if constexpr (op == UnaryOp::kTanh) return tanh(x);
  } else {
    return x;  // Rejected by validate.
  }
}

template <CompareOp op, class C>
BELFRY_HOST_DEVICE constexpr bool apply(C left, C right) {
  if constexpr (op == CompareOp::kEqual) return left == right;
  if constexpr (op == CompareOp::kNotEqual) return left != right;
  if constexpr (op == CompareOp::kLess) return left < right;
  if constexpr (op == CompareOp::kLessEqual) return left <= right;
  if constexpr (op == CompareOp::kGreater) return left > right;
  if constexpr (op == CompareOp::kGreaterEqual) return left >= right;
}

/// The new element of the table, from the old element and the scattered element.
template <ScatterOp op, class C>
BELFRY_HOST_DEVICE constexpr C apply(C table, C x) {
  if constexpr (op == ScatterOp::kSet) {
    return x;
  } else {
    static_assert(static_cast<int>(ScatterOp::kMaximum) == static_cast<int>(BinaryOp::kMaximum));
    return apply<static_cast<BinaryOp>(op)>(table, x);
  }
}

/// A step of a fold. `finish_fold` makes NaN canonical once, at the end.
template <FoldOp op, class C>
BELFRY_HOST_DEVICE constexpr C apply(C folded, C x) {
  if constexpr (op == FoldOp::kMaximum) {
    return greatest(folded, x);
  } else if constexpr (op == FoldOp::kMinimum) {
    return least(folded, x);
  } else if constexpr (!std::is_floating_point_v<C>) {
    constexpr BinaryOp kStep = op == FoldOp::kSum ? BinaryOp::kAdd : BinaryOp::kMultiply;
    return apply<kStep>(folded, x);
  } else {
    return op == FoldOp::kSum ? folded + x : folded * x;
  }
}

/// The fold with the steps of a reduction over replicas.
constexpr FoldOp fold_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMax:
      return FoldOp::kMaximum;
    case ReduceOp::kMin:
      return FoldOp::kMinimum;
    case ReduceOp::kProd:
      return FoldOp::kProduct;
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      break;
  }
  return FoldOp::kSum;
}

/// The fold of no elements: 0, the lowest or the highest value (infinite for floats), 1.
template <FoldOp op, class C>
BELFRY_HOST_DEVICE constexpr C fold_of_nothing() {
  using Limits = std::numeric_limits<C>;
  if constexpr (op == FoldOp::kSum) return C(0);
  if constexpr (op == FoldOp::kProduct) return C(1);
  if constexpr (op == FoldOp::kMaximum) {
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  if constexpr (op == FoldOp::kMinimum) {
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
}

/// The end of a fold: makes NaN canonical.
template <class C>
BELFRY_HOST_DEVICE constexpr C finish_fold(C folded) {
  if constexpr (std::is_floating_point_v<C>) {
    return canonical(folded);
  } else {
    return folded;
  }
}

/// The element types of each operation: a single table for all backends.
constexpr bool is_numeric(DType dtype) { return dtype != DType::kBool; }

/// The unsigned integer type of the same size for a signed integer type; every other type itself.
/// Sums, differences, products and equality of integers have the same bits in both.
constexpr DType unsigned_of(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return DType::kUInt8;
    case DType::kInt16:
      return DType::kUInt16;
    case DType::kInt32:
      return DType::kUInt32;
    case DType::kInt64:
      return DType::kUInt64;
    default:
      return dtype;
  }
}

/// Roots, exponentials and logarithms are for floating types.
constexpr bool supports(UnaryOp op, DType dtype) {
  switch (op) {
    case UnaryOp::kSqrt:
    case UnaryOp::kReciprocal:
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kTanh:
      return is_floating(dtype);
    default:
      return is_numeric(dtype);
  }
}

/// Bool has minimum (and) and maximum (or).
constexpr bool supports(BinaryOp op, DType dtype) {
  return is_numeric(dtype) ||
         (dtype == DType::kBool && (op == BinaryOp::kMinimum || op == BinaryOp::kMaximum));
}

/// Bool has minimum (all) and maximum (any).
constexpr bool supports(FoldOp op, DType dtype) {
  return is_numeric(dtype) ||
         (dtype == DType::kBool && (op == FoldOp::kMaximum || op == FoldOp::kMinimum));
}

/// kSet has every type; all other operations are arithmetic.
constexpr bool supports(ScatterOp op, DType dtype) {
  return op == ScatterOp::kSet || is_numeric(dtype);
}

constexpr bool supports(Distribution distribution, DType dtype) {
  return distribution == Distribution::kBits ? is_numeric(dtype) && !is_floating(dtype)
                                             : is_floating(dtype);
}

/// Whether signed and unsigned integers of the same bits give results of the same bits.
constexpr bool ignores_sign(UnaryOp op) {
  return op == UnaryOp::kNegate || op == UnaryOp::kSquare || op == UnaryOp::kScale ||
         op == UnaryOp::kShift;
}
constexpr bool ignores_sign(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kSubtract || op == BinaryOp::kMultiply;
}
constexpr bool ignores_sign(CompareOp op) {
  return op == CompareOp::kEqual || op == CompareOp::kNotEqual;
}
constexpr bool ignores_sign(FoldOp op) { return op == FoldOp::kSum || op == FoldOp::kProduct; }
constexpr bool ignores_sign(ScatterOp op) {
  return op != ScatterOp::kSet && ignores_sign(static_cast<BinaryOp>(op));
}

}  // namespace belfry::element
