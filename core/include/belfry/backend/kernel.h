// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/call_site.h"
#include "belfry/reduce_op.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace belfry {

/// What a kernel does. Matrices are row-major; counts must match as each line says.
///
/// Element types: the first nine of `DType` for all kinds, with these limits; the last four for
/// kFill, kCast and kReduceReplicas only. Bool has no arithmetic: of the binary operations and
/// folds it has minimum (and) and maximum (or), and no unary operation, matrix product,
/// random draw or kReduceReplicas (a count, "any" and "all" would all be plausible: cast first),
/// and of scattering it has kSet alone. kSqrt, kReciprocal, kExp, kLog and kTanh are for floating
/// types.
///
/// Arithmetic is that of `element_ops.h`. 16-bit floats are computed in float and rounded once,
/// when the result is stored, however many terms it has. Integers wrap modulo 2^w. Every NaN that
/// is computed is the same quiet NaN; copied elements keep their bits.
enum class KernelKind : std::uint8_t {
  kFill,            ///< out[i] = scalar.
  kCast,            ///< out[i] = in[i] as another type: to integers towards zero, saturating.
  kUnary,           ///< out[i] = op(in[i]).
  kBinary,          ///< out[i] = op(left[i], right[broadcast(i)]).
  kCompare,         ///< out[i] (bool) = left[i] op right[broadcast(i)].
  kSelect,          ///< out[i] = condition[i] (bool) ? left[i] : right[i].
  kRowReduce,       ///< out[r] = fold over c of in[r, c], c ascending; in is rows x columns.
  kColumnReduce,    ///< out[c] = fold over r of in[r, c], r ascending.
  kGatherRows,      ///< out[i, :] = table[index[i], :]; 0 where there is no such row.
  kScatterRows,     ///< out[index[i], :] op= in[i, :], i ascending; skipped where no such row.
  kMatmul,          ///< out (rows x columns) = op(left) op(right): from 0, inner index ascending.
  kReduceReplicas,  ///< every out[i] = fold over k of in_k[i]: N inputs, 1 or more outputs.
  kRandom,          ///< out[i] = draw (seed, offset + i) of a counter-based generator.
};
// Inputs are in the order of the formulas but that an index comes first: {index, table} for
// kGatherRows, {index, in} for kScatterRows. An index is int32 or int64 and has `rows` elements;
// a table has any number of rows of `columns`. A fold of nothing is 0, the lowest or the highest
// value. Any count may be 0.

/// Whether a kernel's outputs are read too.
constexpr bool updates_output(KernelKind kind) { return kind == KernelKind::kScatterRows; }

enum class UnaryOp : std::uint8_t {
  kNegate,
  kAbs,
  kSquare,
  kSqrt,
  kReciprocal,
  kExp,
  kLog,
  kTanh,
  kRelu,
  kStep,
  kScale,
  kShift,
};  ///< kStep: x > 0 ? 1 : 0. kScale: x * scalar. kShift: x + scalar. kRelu keeps NaN.
// Integers: kAbs and kNegate wrap at the lowest value. kRelu of -0 is +0.

enum class BinaryOp : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMinimum, kMaximum };
// Integers: kDivide is towards zero, 0 where the divisor is 0, and wraps at lowest / -1. Floats:
// kMinimum and kMaximum give NaN where either is NaN, and the left one of equals.

enum class CompareOp : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual
};
enum class FoldOp : std::uint8_t { kSum, kMaximum, kMinimum };

/// What a scattered row does to the row of the table that its index names, if there is one. All but
/// kSet are the binary operations of those names, in the order of the indices.
enum class ScatterOp : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMinimum,
  kMaximum,
  kSet,  ///< The row is replaced; of several that are named alike the last one stays.
};

/// How `right` meets `left` (rows x columns).
enum class Broadcast : std::uint8_t {
  kNone,    ///< Equal counts.
  kScalar,  ///< One element for all.
  kRow,     ///< right[c]: one row for every row.
  kColumn,  ///< right[r]: one element for every row.
};

enum class Distribution : std::uint8_t {
  kUniform,  ///< Floats in [0, 1).
  kNormal,   ///< Mean 0, variance 1.
  kBits,     ///< All bits of an integer type.
};

/// Everything about a kernel but its memory. Only the fields its kind names are read.
struct KernelParameters {
  UnaryOp unary = UnaryOp::kNegate;
  BinaryOp binary = BinaryOp::kAdd;
  CompareOp compare = CompareOp::kEqual;
  FoldOp fold = FoldOp::kSum;
  ScatterOp scatter = ScatterOp::kAdd;
  Broadcast broadcast = Broadcast::kNone;
  Distribution distribution = Distribution::kUniform;
  ReduceOp reduce = ReduceOp::kSum;
  ReductionOrder order = ReductionOrder::kReplicaOrder;
  bool transpose_left = false;   ///< left is stored inner x rows.
  bool transpose_right = false;  ///< right is stored columns x inner.
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  double scalar = 0;                ///< Rounded once; for kScale and kShift of 16 bits to float.
  std::int64_t integer_scalar = 0;  ///< Instead, modulo 2^w, for integers; for bool: is it not 0?
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// One launch. Outputs may be the very same view as an input of the elementwise kinds and of
/// kReduceReplicas; any other overlap is an error.
struct Kernel {
  KernelKind kind = KernelKind::kFill;
  KernelParameters parameters{};
  std::vector<BufferView> outputs;
  std::vector<BufferView> inputs;
};

/// `reduce_replicas`, `matmul`, ...
std::string_view to_string(KernelKind kind);

/// Checks counts, element types, bounds and overlaps. What lies in the buffers is not looked at:
/// see `first_bad_index` for indices.
/// Throws: InvalidArgumentError with kShape, kDType, kIntegerMean, kOutOfBounds or
/// kInvalidArgument.
void validate(const Kernel& kernel, CallSite site = CallSite::here());

/// Memory a kernel works on, once a backend knows the addresses.
struct KernelOperand {
  void* data = nullptr;
  std::size_t count = 0;
  DType dtype = DType::kFloat32;
};

/// A validated kernel with addresses instead of buffers.
struct KernelCall {
  KernelKind kind = KernelKind::kFill;
  KernelParameters parameters{};
  std::vector<KernelOperand> outputs;
  std::vector<KernelOperand> inputs;
};

/// The addresses behind a kernel's views.
KernelCall resolve(const Kernel& kernel);

}  // namespace belfry
