// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "belfry/backend/buffer.h"
#include "belfry/call_site.h"
#include "belfry/reduce_op.h"

namespace belfry {

/// What a kernel does. Matrices are row-major; counts must match as each line says.
enum class KernelKind : std::uint8_t {
  kFill,            ///< out[i] = scalar.
  kCast,            ///< out[i] = in[i] as another type: to integers towards zero, saturating.
  kUnary,           ///< out[i] = op(in[i]).
  kBinary,          ///< out[i] = op(left[i], right[broadcast(i)]).
  kCompare,         ///< out[i] (bool) = left[i] op right[broadcast(i)].
  kSelect,          ///< out[i] = condition[i] (bool) ? left[i] : right[i].
  kRowReduce,       ///< out[r] = fold over c of in[r, c], c ascending; in is rows x columns.
  kColumnReduce,    ///< out[c] = fold over r of in[r, c], r ascending.
  kGatherRows,      ///< out[i, :] = table[index[i], :]; index int32 or int64.
  kScatterAddRows,  ///< out[index[i], :] += in[i, :], i ascending.
  kMatmul,          ///< out (rows x columns) = op(left) op(right), inner ascending, 16 bit in float.
  kReduceReplicas,  ///< every out[i] = fold over k of in_k[i]: N inputs, 1 or more outputs.
  kRandom,          ///< out[i] = draw (seed, offset + i) of a counter-based generator.
};

enum class UnaryOp : std::uint8_t {
  kNegate, kAbs, kSquare, kSqrt, kReciprocal, kExp, kLog, kTanh, kRelu, kStep, kScale, kShift,
};  ///< kStep: x > 0 ? 1 : 0. kScale: x * scalar. kShift: x + scalar. kRelu keeps NaN.

enum class BinaryOp : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMinimum, kMaximum };
enum class CompareOp : std::uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
enum class FoldOp : std::uint8_t { kSum, kMaximum, kMinimum };

/// How `right` meets `left` (rows x columns).
enum class Broadcast : std::uint8_t {
  kNone,     ///< Equal counts.
  kScalar,   ///< One element for all.
  kRow,      ///< right[c]: one row for every row.
  kColumn,   ///< right[r]: one element for every row.
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
  Broadcast broadcast = Broadcast::kNone;
  Distribution distribution = Distribution::kUniform;
  ReduceOp reduce = ReduceOp::kSum;
  ReductionOrder order = ReductionOrder::kReplicaOrder;
  bool transpose_left = false;   ///< left is stored inner x rows.
  bool transpose_right = false;  ///< right is stored columns x inner.
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  double scalar = 0;
  std::int64_t integer_scalar = 0;  ///< Instead of `scalar` for integer types.
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

/// Checks counts, element types and bounds.
/// Throws: InvalidArgumentError with kShape, kDType, kOutOfBounds or kInvalidArgument.
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
