// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/call_site.h"
#include "belfry/detail/reductions/reduce_op.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace belfry {

class UserKernel;

/// The operation of a kernel. Matrices are row-major; each line gives the counts that must match.
///
/// Element types: every kind takes all of `DType`, with these limits. Bool has no arithmetic: of
/// binary operations and folds only minimum (and) and maximum (or), of scattering only kSet, and no
/// unary operation, matrix product, random draw or kReduceReplicas (a count, "any" and "all" are
/// all plausible: cast first). kSqrt, kReciprocal, kExp, kLog and kTanh are for floating types,
/// kUniform and kNormal too; kBits is for integers.
///
/// Arithmetic is that of `element_ops.h`. 16-bit floats are computed in float and rounded once, at
/// the store of the result, for any number of terms. Integers wrap modulo 2^w. Every computed NaN
/// is the same quiet NaN; copied elements keep their bits.
enum class KernelKind : std::uint8_t {
  kFill,            ///< out[i] = scalar.
  kCast,            ///< out[i] = in[i] as another type: to integers towards zero, saturating.
  kUnary,           ///< out[i] = op(in[i]).
  kBinary,          ///< out[i] = op(left[i], right[broadcast(i)]).
  kCompare,         ///< out[i] (bool) = left[i] op right[broadcast(i)].
  kSelect,          ///< out[i] = condition[i] (bool) ? left[i] : right[i].
  kRowReduce,       ///< out[r] = fold over c of in[r, c], c ascending; in is rows x columns.
  kColumnReduce,    ///< out[c] = fold over r of in[r, c], r ascending.
  kGatherRows,      ///< out[i, :] = table[index[i], :]; 0 for an index outside the table.
  kScatterRows,     ///< out[index[i], :] op= in[i, :], i ascending; skips an index outside.
  kMatmul,          ///< out (rows x columns) = op(left) op(right): from 0, inner index ascending.
  kReduceReplicas,  ///< every out[i] = fold over k of in_k[i]: N inputs, 1 or more outputs.
  kRandom,          ///< out[i] = draw (seed, offset + i) of a counter-based generator.
  kFusedUpdate,  ///< For each input k: (w_k, slots_k) = rule(w_k, slots_k, in_k), see UpdateRule.
  kCopyEach,     ///< out_k[i] = in_k[i] for each k: N inputs and as many outputs.
  kUser,         ///< As the user's body says: see `belfry/backend/user_kernel.h`. Any types.
};
// Inputs are in the order of the formulas, except that an index comes first: {index, table} for
// kGatherRows, {index, in} for kScatterRows. Outputs of kFusedUpdate are w_0, slots_0, w_1, ...,
// all of one floating type; pairs of kCopyEach may differ in count and type. An index is int32 or
// int64 and has `rows` elements; a table has any number of rows of `columns`. A fold of no elements
// is 0, the lowest or the highest value. Any count may be 0.

/// Whether a kernel's outputs are read too. False for kUser, whose body knows the mode of each
/// output.
constexpr bool updates_output(KernelKind kind) {
  return kind == KernelKind::kScatterRows || kind == KernelKind::kFusedUpdate;
}

/// The function of kUnary.
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

/// The function of kBinary.
enum class BinaryOp : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMinimum, kMaximum };
// Integers: kDivide rounds towards zero, gives 0 for the divisor 0, and wraps at lowest / -1.
// Floats: kMinimum and kMaximum give NaN if either is NaN, and the left operand of equals.

/// The comparison of kCompare.
enum class CompareOp : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual
};
/// The fold of kRowReduce and kColumnReduce.
enum class FoldOp : std::uint8_t { kSum, kMaximum, kMinimum, kProduct };
// Floats: any NaN gives NaN. kMaximum and kMinimum are the same in every order: -0 is below +0.

/// The effect of a scattered row on the table's row named by its index, if the row exists. All but
/// kSet are the binary operations of the same names, in the order of the indices.
enum class ScatterOp : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMinimum,
  kMaximum,
  kSet,  ///< The row is replaced; if several have the same index, the last stays.
};

/// How `right` is extended to the shape of `left` (rows x columns).
enum class Broadcast : std::uint8_t {
  kNone,    ///< Equal counts.
  kScalar,  ///< One element for all.
  kRow,     ///< right[c]: one row for every row.
  kColumn,  ///< right[r]: one element for every row.
};

/// The numbers of kRandom.
enum class Distribution : std::uint8_t {
  kUniform,  ///< Floats in [0, 1).
  kNormal,   ///< Mean 0, variance 1.
  kBits,     ///< All bits of an integer type.
};

/// The rule of kFusedUpdate. `rate` is KernelParameters::scalar. Each operation is rounded to the
/// element type, as the operation by a kernel of its own.
enum class UpdateRule : std::uint8_t {
  kPlain,     ///< w -= rate g.
  kMomentum,  ///< v = decay v + g; w -= rate v.
  kAdam,      ///< m = decay m + (1 - decay) g; v = second_decay v + (1 - second_decay) g g;
              ///< w -= rate (m / (sqrt(v) + epsilon)).
};

/// The number of slots of each w: 0, 1 and 2.
constexpr std::size_t slots_of(UpdateRule rule) { return static_cast<std::size_t>(rule); }

/// All of a kernel but its memory. Only the fields of its kind are read.
struct KernelParameters {
  UnaryOp unary = UnaryOp::kNegate;                      ///< Of kUnary.
  BinaryOp binary = BinaryOp::kAdd;                      ///< Of kBinary.
  CompareOp compare = CompareOp::kEqual;                 ///< Of kCompare.
  FoldOp fold = FoldOp::kSum;                            ///< Of kRowReduce and kColumnReduce.
  ScatterOp scatter = ScatterOp::kAdd;                   ///< Of kScatterRows.
  Broadcast broadcast = Broadcast::kNone;                ///< Of kBinary and kCompare.
  Distribution distribution = Distribution::kUniform;    ///< Of kRandom.
  ReduceOp reduce = ReduceOp::kSum;                      ///< Of kReduceReplicas.
  ReductionOrder order = ReductionOrder::kReplicaOrder;  ///< Of kReduceReplicas.
  bool transpose_left = false;                           ///< left is stored inner x rows.
  bool transpose_right = false;                          ///< right is stored columns x inner.
  std::int64_t rows = 0;                   ///< Of the output of a product, else of the matrix.
  std::int64_t columns = 0;                ///< Of the output of a product, else of the matrix.
  std::int64_t inner = 0;                  ///< Of a product: the length of each sum.
  UpdateRule update = UpdateRule::kPlain;  ///< Of kFusedUpdate.
  double decay = 0;                        ///< Of kFusedUpdate.
  double second_decay = 0;                 ///< Of kFusedUpdate.
  double epsilon = 0;                      ///< Of kFusedUpdate.
  double scalar = 0;                ///< Rounded once; for kScale and kShift of 16 bits to float.
  std::int64_t integer_scalar = 0;  ///< For integers, modulo 2^w; for bool: != 0.
  std::uint64_t seed = 0;           ///< Of kRandom.
  std::uint64_t offset = 0;         ///< Of kRandom: the number of the first draw.
};

/// A launch. For elementwise kinds and kReduceReplicas an output may be the same view as an input;
/// any other overlap is an error. For kUser the same holds of an output that is updated; memory of
/// two buffers overlaps, too, if their addresses do.
struct Kernel {
  KernelKind kind = KernelKind::kFill;  ///< The operation.
  KernelParameters parameters{};        ///< The details of the operation.
  std::vector<BufferView> outputs;      ///< Written views.
  std::vector<BufferView> inputs;       ///< Read views, in the order of KernelKind.
  /// The body of kUser, else null. Shared by the launch and the work in flight.
  std::shared_ptr<const UserKernel> user{};
};

/// `reduce_replicas`, `matmul`, ...
std::string_view to_string(KernelKind kind);

/// Checks counts, element types, bounds and overlaps. Contents of buffers are not checked: see
/// `first_bad_index` for indices.
/// Throws: InvalidArgumentError with kShape, kDType, kIntegerMean, kOutOfBounds or
/// kInvalidArgument.
void validate(const Kernel& kernel, CallSite site = CallSite::here());

/// The memory of a kernel's operand, after the backend knows the address.
struct KernelOperand {
  void* data = nullptr;           ///< The first element.
  std::size_t count = 0;          ///< The number of elements.
  DType dtype = DType::kFloat32;  ///< The element type.
};

/// A validated kernel with addresses instead of buffers.
struct KernelCall {
  KernelKind kind = KernelKind::kFill;  ///< As Kernel::kind.
  KernelParameters parameters{};        ///< As Kernel::parameters.
  std::vector<KernelOperand> outputs;   ///< As Kernel::outputs.
  std::vector<KernelOperand> inputs;    ///< As Kernel::inputs.
  /// As Kernel::user. Shared by the launch and the work in flight.
  std::shared_ptr<const UserKernel> user{};
};

/// The kernel with the addresses of its views.
KernelCall resolve(const Kernel& kernel);

}  // namespace belfry
