// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/kernel.h"
#include "belfry/call_site.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"

#include <concepts>
#include <cstdint>
#include <string_view>

namespace belfry {
class AnyTensor;
struct Placement;
}  // namespace belfry

/// The functions behind `belfry/tensor_ops.h`, without types: each checks its operands, makes the
/// result and launches kernels on the compute stream of the operands' device. `what` is the name of
/// the function that the user called, for messages.
namespace belfry::detail {

/// A number for a kernel, exact for every element type.
struct Scalar {
  double real = 0;
  std::int64_t integer = 0;

  template <class T>
  static constexpr Scalar of(T value) {
    if constexpr (std::integral<T>) {
      return {static_cast<double>(value), static_cast<std::int64_t>(value)};
    } else {
      return {static_cast<double>(value), 0};
    }
  }
};

struct MatmulTransposes {
  bool left = false;
  bool right = false;
};

struct RandomDraw {
  Distribution distribution = Distribution::kUniform;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// A tensor with undefined contents. Throws: as AnyTensor::allocate, with the call site.
AnyTensor make_uninitialised(DType dtype, Shape shape, Placement placement, CallSite site);
/// A tensor over memory of the program's own. Throws: as Tensor::over, and (kShape) if `memory` has
/// not the bytes of the shape.
AnyTensor make_over(DType dtype, Shape shape, ForeignMemory memory, Placement placement,
                    CallSite site);
AnyTensor launch_fill(DType dtype, Shape shape, Scalar value, Placement placement, CallSite site);
AnyTensor launch_unary(UnaryOp op, const AnyTensor& x, Scalar scalar, std::string_view what,
                       CallSite site);
AnyTensor launch_binary(BinaryOp op, const AnyTensor& left, const AnyTensor& right,
                        std::string_view what, CallSite site);
AnyTensor launch_binary(BinaryOp op, const AnyTensor& left, Scalar right, std::string_view what,
                        CallSite site);
AnyTensor launch_binary(BinaryOp op, Scalar left, const AnyTensor& right, std::string_view what,
                        CallSite site);
AnyTensor launch_compare(CompareOp op, const AnyTensor& left, const AnyTensor& right,
                         std::string_view what, CallSite site);
AnyTensor launch_compare(CompareOp op, const AnyTensor& left, Scalar right, std::string_view what,
                         CallSite site);
AnyTensor launch_select(const AnyTensor& condition, const AnyTensor& left, const AnyTensor& right,
                        CallSite site);
AnyTensor launch_cast(const AnyTensor& x, DType to, CallSite site);
/// Folds each row (`rows`) or each column of a matrix.
AnyTensor launch_fold(FoldOp op, bool rows, const AnyTensor& x, std::string_view what,
                      CallSite site);
AnyTensor launch_matmul(const AnyTensor& left, const AnyTensor& right, MatmulTransposes transposes,
                        CallSite site);
AnyTensor launch_gather_rows(const AnyTensor& table, const AnyTensor& indices, CallSite site);
AnyTensor launch_random(DType dtype, Shape shape, RandomDraw draw, Placement placement,
                        CallSite site);

// Updates in place.
void update_unary(UnaryOp op, AnyTensor& x, Scalar scalar, std::string_view what, CallSite site);
void update_binary(BinaryOp op, AnyTensor& left, const AnyTensor& right, std::string_view what,
                   CallSite site);
/// x += scale * y, or x -= scale * y: the product is rounded, then the sum.
void update_scaled(BinaryOp op, AnyTensor& x, Scalar scale, const AnyTensor& y,
                   std::string_view what, CallSite site);
void update_scatter_rows(ScatterOp op, AnyTensor& table, const AnyTensor& indices,
                         const AnyTensor& rows, std::string_view what, CallSite site);

}  // namespace belfry::detail
