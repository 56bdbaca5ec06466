// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/integer_sums.h"

#include "belfry/detail/tensor_launch.h"
#include "belfry/error.h"
#include "kernels/dispatch.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

// Kernels have no arithmetic wider than 64 bits. The sum of 64-bit tensors is therefore kept in two
// tensors of the same type: the quotients of the elements by 2^32 are added up in the first, the
// remainders in the second. Up to 2^30 elements add up without overflow. The mean follows from both
// sums by division with remainders.
namespace belfry::detail {
namespace {

constexpr const char* kWhat = "a truncated mean";
constexpr std::int64_t kWord = std::int64_t{1} << 32;

// The types with sums of type Wide.
template <class Wide>
using SummedIn =
    std::conditional_t<std::is_same_v<Wide, Int128>, kernels::TypeList<std::int64_t, std::uint64_t>,
                       kernels::TypeList<std::int8_t, std::int16_t, std::int32_t, std::uint8_t,
                                         std::uint16_t, std::uint32_t>>;

AnyTensor apply(BinaryOp op, const AnyTensor& left, std::int64_t right) {
  return launch_binary(op, left, Scalar::of(right), kWhat, {});
}

AnyTensor apply(BinaryOp op, const AnyTensor& left, const AnyTensor& right) {
  return launch_binary(op, left, right, kWhat, {});
}

// left - right * by.
AnyTensor remainder(const AnyTensor& left, const AnyTensor& quotient, std::int64_t by) {
  return apply(BinaryOp::kSubtract, left, apply(BinaryOp::kMultiply, quotient, by));
}

AnyTensor compared_with_0(CompareOp op, const AnyTensor& tensor) {
  return launch_compare(op, tensor, Scalar::of(0), kWhat, {});
}

// 1 for each true element, 0 for each false element.
AnyTensor ones_where(const AnyTensor& condition) {
  return launch_cast(condition, DType::kInt64, {});
}

AnyTensor ones_where_both(const AnyTensor& first, const AnyTensor& second) {
  return ones_where(apply(BinaryOp::kMinimum, first, second));
}

// (high * 2^32 + low) / terms, towards zero. With high = terms * a + r the sum is
// terms * a * 2^32 + rest, rest = r * 2^32 + low. With rest = terms * b + c the sum is
// terms * (a * 2^32 + b) + c, |c| < terms. The quotient is a * 2^32 + b if c is 0 or has its sign,
// also for all unsigned integers. With the other sign of c the quotient is nearer to 0 by 1.
// |r| < terms and |low| < terms * 2^32 keep |rest| below terms * 2^33, which fits up to 2^30 terms.
AnyTensor divided_sum(const AnyTensor& high, const AnyTensor& low, std::int64_t terms) {
  const AnyTensor a = apply(BinaryOp::kDivide, high, terms);
  const AnyTensor rest =
      apply(BinaryOp::kAdd, apply(BinaryOp::kMultiply, remainder(high, a, terms), kWord), low);
  const AnyTensor b = apply(BinaryOp::kDivide, rest, terms);
  const AnyTensor c = remainder(rest, b, terms);
  const AnyTensor quotient = apply(BinaryOp::kAdd, apply(BinaryOp::kMultiply, a, kWord), b);
  if (high.dtype() == DType::kUInt64) return quotient;
  const AnyTensor is_below = compared_with_0(CompareOp::kLess, c);
  const AnyTensor less = ones_where_both(is_below, compared_with_0(CompareOp::kGreater, quotient));
  const AnyTensor more = ones_where_both(compared_with_0(CompareOp::kGreater, c),
                                         compared_with_0(CompareOp::kLess, quotient));
  return apply(BinaryOp::kAdd, apply(BinaryOp::kSubtract, quotient, less), more);
}

template <class Wide>
std::vector<Wide> widened(const LeafRef& leaf) {
  std::vector<Wide> values(leaf.count);
  kernels::visit_type(SummedIn<Wide>{}, leaf.dtype, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    const auto* const own = static_cast<const E*>(leaf.data);
    std::copy(own, own + leaf.count, values.begin());
  });
  return values;
}

// A mean lies between the smallest and the largest value and fits their type.
template <class Wide>
void write_means(const LeafRef& leaf, const std::vector<Wide>& sums, int terms) {
  kernels::visit_type(SummedIn<Wide>{}, leaf.dtype, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    std::transform(sums.begin(), sums.end(), static_cast<E*>(leaf.data),
                   [terms](Wide sum) { return static_cast<E>(sum / terms); });
  });
}

template <class Wide>
void add_to(std::vector<Wide>& sums, const std::vector<Wide>& terms) {
  std::transform(sums.begin(), sums.end(), terms.begin(), sums.begin(), std::plus<>());
}

void add_to(AnyTensor& sum, const AnyTensor& terms) {
  if (!sum.empty()) update_binary(BinaryOp::kAdd, sum, terms, kWhat, {});
}

bool is_empty_tensor(const LeafRef& leaf) { return leaf.tensor != nullptr && leaf.tensor->empty(); }

void require_integers(const LeafRef& leaf) {
  // Without storage no element type is known. The cast throws.
  if (is_empty_tensor(leaf)) launch_cast(*leaf.tensor, DType::kInt64, {});
  if (leaf.own != nullptr) {
    throw InvalidArgumentError(ErrorCode::kDType,
                               "values of " + name_of(*leaf.own) + " have no truncated mean",
                               "reduce by ReduceOp::kMean, or by a Reduction of your own");
  }
  if (leaf.dtype != DType::kBool) return;
  throw InvalidArgumentError(ErrorCode::kDType, "bool values have no mean",
                             "cast them to an integer type first, or to a floating-point type");
}

}  // namespace

IntegerSums::LeafSum IntegerSums::sum_of(const LeafRef& leaf) {
  LeafSum sum;
  require_integers(leaf);
  if (is_floating(leaf.dtype)) return sum;
  const bool is_narrow = size_of(leaf.dtype) < 8;
  if (leaf.tensor == nullptr) {
    if (is_narrow) {
      sum.narrow = widened<std::int64_t>(leaf);
    } else {
      sum.wide = widened<Int128>(leaf);
    }
    return sum;
  }
  if (is_narrow) {
    sum.low = launch_cast(*leaf.tensor, DType::kInt64, {});
    return sum;
  }
  sum.high = apply(BinaryOp::kDivide, *leaf.tensor, kWord);
  sum.low = remainder(*leaf.tensor, sum.high, kWord);
  return sum;
}

IntegerSums::IntegerSums(const std::vector<LeafRef>& leaves) {
  sums_.reserve(leaves.size());
  for (const LeafRef& leaf : leaves) sums_.push_back(sum_of(leaf));
}

void IntegerSums::add(const IntegerSums& terms) {
  check(sums_.size() == terms.sums_.size(), "sums of other leaves");
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    add_to(sums_[i].narrow, terms.sums_[i].narrow);
    add_to(sums_[i].wide, terms.sums_[i].wide);
    add_to(sums_[i].low, terms.sums_[i].low);
    add_to(sums_[i].high, terms.sums_[i].high);
  }
}

void IntegerSums::divide_into(const std::vector<LeafRef>& leaves, int terms) const {
  check(sums_.size() == leaves.size(), "leaves of other sums");
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const LeafRef& leaf = leaves[i];
    const LeafSum& sum = sums_[i];
    if (is_floating(leaf.dtype)) continue;
    if (leaf.tensor == nullptr) {
      if (size_of(leaf.dtype) < 8) {
        write_means(leaf, sum.narrow, terms);
      } else {
        write_means(leaf, sum.wide, terms);
      }
    } else if (sum.high.empty()) {
      *leaf.tensor = launch_cast(apply(BinaryOp::kDivide, sum.low, terms), leaf.dtype, {});
    } else {
      *leaf.tensor = divided_sum(sum.high, sum.low, terms);
    }
  }
}

void add_floating_leaves(const std::vector<LeafRef>& target, const std::vector<LeafRef>& delta) {
  const auto floating = [](const std::vector<LeafRef>& leaves) {
    std::vector<LeafRef> some;
    for (const LeafRef& leaf : leaves) {
      if (is_floating(leaf.dtype)) some.push_back(leaf);
    }
    return some;
  };
  combine_leaves(AssignOp::kAdd, floating(target), floating(delta));
}

}  // namespace belfry::detail
