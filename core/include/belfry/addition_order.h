// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace belfry {

/// The additions that make an element of a result: an input of a member, or the sum of two trees.
struct AdditionTree {
  int member = 0;                     ///< The member whose input a tree without terms is.
  std::vector<AdditionTree> terms{};  ///< Two trees, the left operand first; empty for an input.

  bool operator==(const AdditionTree&) const = default;
};

/// `((x0 + x1) + x2)`; `x0` for an input alone.
std::string to_string(const AdditionTree& tree);

/// The families of named orders. N is the number of members.
enum class OrderKind : std::uint8_t {
  kReplicaOrder,     ///< ((x0 + x1) + x2) + ...: canonical.
  kTree,             ///< Pairwise, as SEM-32; member (`root` + i) modulo N has the place of x(i).
  kHalvingDoubling,  ///< HalvingDoublingAllReduce: pairs of the first members, then a tree.
  kRing,             ///< Chunks go round a ring: NamedOrder::ring.
  kGroups,           ///< Sums of neighbours, then sums of neighbouring sums: NamedOrder::levels.
  kRootFirst,        ///< x(root), and then all other inputs in replica order.
  /// TensorFlow's AddN. x(root) and x0 change places. The first N mod 8 inputs, or 8 for 0 and 9
  /// for 1, are added in order; then the sum of each further group of eight is added.
  kGroupsOfEight,
};

/// `replica order`, `tree`, `halving and doubling`, `ring`, `groups`, `root first`, `groups of
/// eight`.
std::string to_string(OrderKind kind);

/// How a tensor of n elements is cut into the chunks of a ring.
enum class RingChunks : std::uint8_t {
  kRoundedUp,      ///< Chunks of equal length, rounded up (ChunkRule::kRoundedUp).
  kRemainderLast,  ///< N chunks, rounded down; the last chunk has the rest as well.
  /// TensorFlow's collectives on CPUs: N chunks of 64 * (floor(B / 64) + 1) bytes, where B is the
  /// bytes of n / N elements, rounded up. The last chunks are shorter or empty.
  kCacheLines,
};

/// `rounded up`, `remainder last`, `cache lines`.
std::string to_string(RingChunks chunks);

/// The ring of OrderKind::kRing, with the parameters of RingOptions. The members of a host have the
/// order 0, 1, ... turned by `rotation`; then `reversed` counts from the other end.
struct RingOrder {
  RingChunks chunks = RingChunks::kRoundedUp;  ///< The lengths of the chunks.
  /// The number of chunks: 0 for N, or for N * subchunks; 1 for a chain of members; for one host
  /// any number up to 4 N but N. Only kRoundedUp with one subchunk has a number other than 0.
  int count = 0;
  int start = 0;          ///< Chunk c starts at place c + start; from 0 to N - 1.
  bool reversed = false;  ///< Whether the members of a host descend.
  int subchunks = 1;      ///< RingOptions::subchunks; 1 unless the chunks are kRoundedUp.
  int hosts = 1;          ///< RingOptions::hosts; a divisor of N less than N, or 1.
  int rotation = 0;       ///< From 0 to N / hosts - 1; 0 for one host, whose ring `start` turns.

  bool operator==(const RingOrder&) const = default;
};

/// `ring, start 1, reversed`.
std::string to_string(const RingOrder& ring);

/// When the sum of 16-bit floats is rounded to the element type.
enum class SumRounding : std::uint8_t {
  kOnce,          ///< At the end: sums are floats (SEM-33).
  kEachAddition,  ///< After every addition, as the reference systems do. 16-bit floats only.
};

/// `once`, `each addition`.
std::string to_string(SumRounding rounding);

/// A name for the additions of every element of a tensor: a value, and no algorithm (SEM-148).
/// Parameters that a kind does not use keep their defaults.
struct NamedOrder {
  OrderKind kind = OrderKind::kReplicaOrder;  ///< The family.
  int root = 0;                               ///< Of kTree, kRootFirst, kGroupsOfEight.
  RingOrder ring{};                           ///< Of kRing.
  /// Of kGroups: level k adds up groups of levels[k] neighbouring sums; the sums after the last
  /// level are added in order. A size is at least 2 and less than the number of sums. Groups are
  /// equal; the last group of a single level may be smaller.
  std::vector<int> levels{};
  SumRounding rounding = SumRounding::kOnce;  ///< Of 16-bit floats.

  bool operator==(const NamedOrder&) const = default;
};

/// `ring, start 1, reversed`.
std::string to_string(const NamedOrder& order);

/// The order of `all_reduce` in TensorFlow 2.21 on the CPUs of a host: a ring with kCacheLines.
NamedOrder tensorflow_order();

/// All named orders of this many members and element type, in a fixed order: simple ones first.
/// Throws: InvalidArgumentError (kInvalidArgument) without members, (kDType) unless the type is
/// float32, float16 or bfloat16.
std::vector<NamedOrder> named_orders(int members, DType dtype, CallSite site = CallSite::here());

/// The tensors of a reduction.
struct ReducedTensor {
  int members = 1;                ///< The number of members, each with an input.
  std::size_t elements = 1;       ///< The number of elements of each input.
  DType dtype = DType::kFloat32;  ///< The element type.
};

/// `2 members, 5 elements, float32`.
std::string to_string(const ReducedTensor& tensor);

/// The additions of an element.
/// Throws: InvalidArgumentError (kInvalidArgument) if the order is none of named_orders, or the
/// tensor has no such element.
AdditionTree additions(const NamedOrder& order, const ReducedTensor& tensor, std::size_t element,
                       CallSite site = CallSite::here());

/// The tree in lines: `+` for a sum, and below the sum its left and its right operand.
std::string draw(const AdditionTree& tree);

/// How two sums become one, and what becomes of the last.
enum class OrderOp : std::uint8_t {
  kSum,   ///< a + b.
  kMean,  ///< a + b, and the last sum is divided by the number of members before the rounding.
  kMin,   ///< The lesser; NaN if an operand is NaN; -0 is less than 0.
  kMax,   ///< The greater; NaN if an operand is NaN; -0 is less than 0.
  kProd,  ///< a * b.
};

/// `sum`, `mean`, `min`, `max`, `prod`.
std::string to_string(OrderOp op);

/// The arithmetic of a reduction. Computes with floats.
struct OrderArithmetic {
  DType dtype = DType::kFloat32;              ///< The type of the result: float32 or 16 bits.
  OrderOp op = OrderOp::kSum;                 ///< The operator.
  SumRounding rounding = SumRounding::kOnce;  ///< Of 16-bit floats.
};

/// `sum of bfloat16, rounded at each addition`.
std::string to_string(const OrderArithmetic& arithmetic);

/// The result of a tree for an element, rounded to the element type; `inputs` has a value for each
/// member.
/// Throws: InvalidArgumentError (kInvalidArgument) if the tree names a member without a value,
/// (kDType) as named_orders.
float evaluate(const AdditionTree& tree, std::span<const float> inputs,
               const OrderArithmetic& arithmetic = {}, CallSite site = CallSite::here());

/// The element types whose bits named orders explain.
template <class T>
concept ExplainedFloat =
    std::same_as<T, float> || std::same_as<T, Float16> || std::same_as<T, BFloat16>;

namespace detail {
// A reduction whose values have become floats: exactly, so that equal bits are equal floats.
struct OrderQuestion {
  std::vector<std::vector<float>> inputs;
  std::vector<float> result;
  DType dtype;
  OrderOp op;
};
std::vector<NamedOrder> orders_that_explain(const OrderQuestion& question, CallSite site);
bool explains(const NamedOrder& order, const OrderQuestion& question, CallSite site);
std::vector<double> any_order_bound(const OrderQuestion& question, SumRounding rounding,
                                    CallSite site);

template <ExplainedFloat T>
OrderQuestion order_question(const std::vector<std::vector<T>>& inputs,
                             const std::vector<T>& result, OrderOp op) {
  OrderQuestion question{
      .inputs{}, .result{result.begin(), result.end()}, .dtype = dtype_of<T>(), .op = op};
  for (const auto& row : inputs) question.inputs.emplace_back(row.begin(), row.end());
  return question;
}
}  // namespace detail

/// The named orders whose additions give the bits of every element of `result`, in the order of
/// named_orders; none if no named order does. `inputs` has a row for each member, in replica order.
/// All NaNs are equal.
/// Throws: InvalidArgumentError (kInvalidArgument) without rows, (kShape) if a row is longer or
/// shorter than the result.
template <ExplainedFloat T>
std::vector<NamedOrder> orders_that_explain(const std::vector<std::vector<T>>& inputs,
                                            const std::vector<T>& result,
                                            OrderOp op = OrderOp::kSum,
                                            CallSite site = CallSite::here()) {
  return detail::orders_that_explain(detail::order_question(inputs, result, op), site);
}

/// Whether the additions of the order give the bits of every element.
/// Throws: as `additions` and `orders_that_explain`.
template <ExplainedFloat T>
bool explains(const NamedOrder& order, const std::vector<std::vector<T>>& inputs,
              const std::vector<T>& result, OrderOp op = OrderOp::kSum,
              CallSite site = CallSite::here()) {
  return detail::explains(order, detail::order_question(inputs, result, op), site);
}

/// For each element a bound of |SUM - exact sum| for every order of additions, named or not, unless
/// a sum overflows: g(N - 1) * (|x0| + |x1| + ...) with g(k) = k * u / (1 - k * u). The unit of
/// rounding u is 2^-24 for sums in float, and with kEachAddition 2^-11 for float16 and 2^-8 for
/// bfloat16. 16-bit floats that are rounded once have the last rounding in the bound.
/// Throws: as `orders_that_explain`.
template <ExplainedFloat T>
std::vector<double> any_order_bound(const std::vector<std::vector<T>>& inputs,
                                    SumRounding rounding = SumRounding::kOnce,
                                    CallSite site = CallSite::here()) {
  const std::vector<T> result(inputs.empty() ? 0 : inputs.front().size());
  return detail::any_order_bound(detail::order_question(inputs, result, OrderOp::kSum), rounding,
                                 site);
}

}  // namespace belfry
