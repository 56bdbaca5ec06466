// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/error.h"
#include "values/tensor_operands.h"
#include "words/with_report.h"

#include <exception>
#include <utility>

namespace belfry::detail {
namespace {

Kernel elementwise(KernelKind kind, const Fit& fit) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.parameters.broadcast = fit.broadcast;
  kernel.parameters.rows = fit.rows;
  kernel.parameters.columns = fit.columns;
  return kernel;
}

void set_scalar(Kernel& kernel, Scalar scalar) {
  kernel.parameters.scalar = scalar.real;
  kernel.parameters.integer_scalar = scalar.integer;
}

Fit check_pair(const TensorCall& call, const AnyTensor& left, const AnyTensor& right) {
  require_storage(call, left);
  require_storage(call, right);
  require_same_type(call, left, right);
  require_same_device(call, left, right);
  return fit(call, left.shape(), right.shape());
}

void run_unary(UnaryOp op, Scalar scalar, const BufferView& to, const AnyTensor& x) {
  Kernel kernel = elementwise(KernelKind::kUnary, {Broadcast::kNone, 1, x.shape().count()});
  kernel.parameters.unary = op;
  set_scalar(kernel, scalar);
  kernel.outputs = {to};
  kernel.inputs = {x.view()};
  launch(x.placement(), std::move(kernel));
}

void run_binary(BinaryOp op, const Fit& fit, const BufferView& to, const AnyTensor& left,
                const AnyTensor& right) {
  Kernel kernel = elementwise(KernelKind::kBinary, fit);
  kernel.parameters.binary = op;
  kernel.outputs = {to};
  kernel.inputs = {left.view(), right.view()};
  launch(left.placement(), std::move(kernel));
}

// Minimum and maximum of bool are "and" and "or".
void require_binary(BinaryOp op, const TensorCall& call, DType dtype) {
  if (op != BinaryOp::kMinimum && op != BinaryOp::kMaximum) require_arithmetic(call, dtype);
}

Scalar negated(Scalar scalar) {
  return {-scalar.real, static_cast<std::int64_t>(-static_cast<std::uint64_t>(scalar.integer))};
}

// A device's error for exhausted memory names no call.
AnyTensor allocate_at(CallSite site, DType dtype, Shape shape, Placement placement) {
  try {
    return AnyTensor::allocate(dtype, std::move(shape), placement);
  } catch (const Error&) {
    std::rethrow_exception(at_site(std::current_exception(), site));
  }
}

// A single element, combined with all elements of `like`.
AnyTensor scalar_beside(const AnyTensor& like, Scalar value, CallSite site) {
  return launch_fill(like.dtype(), Shape{}, value, like.placement(), site);
}

}  // namespace

AnyTensor make_uninitialised(DType dtype, Shape shape, Placement placement, CallSite site) {
  const SiteScope scope(site);
  return allocate_at(site, dtype, std::move(shape), placement);
}

AnyTensor launch_fill(DType dtype, Shape shape, Scalar value, Placement placement, CallSite site) {
  const SiteScope scope(site);
  AnyTensor out = allocate_at(site, dtype, std::move(shape), placement);
  Kernel kernel = elementwise(KernelKind::kFill, {Broadcast::kNone, 1, out.shape().count()});
  set_scalar(kernel, value);
  kernel.outputs = {out.view()};
  launch(placement, std::move(kernel));
  return out;
}

AnyTensor launch_unary(UnaryOp op, const AnyTensor& x, Scalar scalar, std::string_view what,
                       CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{what, site};
  require_storage(call, x);
  require_arithmetic(call, x.dtype());
  AnyTensor out = AnyTensor::allocate(x.dtype(), x.shape(), x.placement());
  run_unary(op, scalar, out.view(), x);
  return out;
}

AnyTensor launch_binary(BinaryOp op, const AnyTensor& left, const AnyTensor& right,
                        std::string_view what, CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{what, site};
  const Fit fit = check_pair(call, left, right);
  require_binary(op, call, left.dtype());
  AnyTensor out = AnyTensor::allocate(left.dtype(), left.shape(), left.placement());
  run_binary(op, fit, out.view(), left, right);
  return out;
}

AnyTensor launch_binary(BinaryOp op, const AnyTensor& left, Scalar right, std::string_view what,
                        CallSite site) {
  if (op == BinaryOp::kAdd) return launch_unary(UnaryOp::kShift, left, right, what, site);
  // Adding the negative has the same bits as subtracting, also for zeros.
  if (op == BinaryOp::kSubtract) {
    return launch_unary(UnaryOp::kShift, left, negated(right), what, site);
  }
  if (op == BinaryOp::kMultiply) return launch_unary(UnaryOp::kScale, left, right, what, site);
  require_storage({what, site}, left);
  return launch_binary(op, left, scalar_beside(left, right, site), what, site);
}

AnyTensor launch_binary(BinaryOp op, Scalar left, const AnyTensor& right, std::string_view what,
                        CallSite site) {
  require_storage({what, site}, right);
  require_arithmetic({what, site}, right.dtype());
  const AnyTensor filled = launch_fill(right.dtype(), right.shape(), left, right.placement(), site);
  return launch_binary(op, filled, right, what, site);
}

AnyTensor launch_compare(CompareOp op, const AnyTensor& left, const AnyTensor& right,
                         std::string_view what, CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{what, site};
  Kernel kernel = elementwise(KernelKind::kCompare, check_pair(call, left, right));
  AnyTensor out = AnyTensor::allocate(DType::kBool, left.shape(), left.placement());
  kernel.parameters.compare = op;
  kernel.outputs = {out.view()};
  kernel.inputs = {left.view(), right.view()};
  launch(left.placement(), std::move(kernel));
  return out;
}

AnyTensor launch_compare(CompareOp op, const AnyTensor& left, Scalar right, std::string_view what,
                         CallSite site) {
  require_storage({what, site}, left);
  return launch_compare(op, left, scalar_beside(left, right, site), what, site);
}

AnyTensor launch_select(const AnyTensor& condition, const AnyTensor& left, const AnyTensor& right,
                        CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{"select", site};
  require_storage(call, condition);
  require_storage(call, left);
  require_storage(call, right);
  require_same_type(call, left, right);
  require_same_device(call, condition, left);
  require_same_device(call, left, right);
  if (condition.shape() != left.shape() || left.shape() != right.shape()) {
    throw_shapes(call, condition.shape(),
                 condition.shape() != left.shape() ? left.shape() : right.shape(),
                 "the condition and both values have one shape");
  }
  AnyTensor out = AnyTensor::allocate(left.dtype(), left.shape(), left.placement());
  Kernel kernel = elementwise(KernelKind::kSelect, {Broadcast::kNone, 1, left.shape().count()});
  kernel.outputs = {out.view()};
  kernel.inputs = {condition.view(), left.view(), right.view()};
  launch(left.placement(), std::move(kernel));
  return out;
}

AnyTensor launch_cast(const AnyTensor& x, DType to, CallSite site) {
  const SiteScope scope(site);
  require_storage({"cast", site}, x);
  if (x.dtype() == to) return x;
  AnyTensor out = AnyTensor::allocate(to, x.shape(), x.placement());
  Kernel kernel = elementwise(KernelKind::kCast, {Broadcast::kNone, 1, x.shape().count()});
  kernel.outputs = {out.view()};
  kernel.inputs = {x.view()};
  launch(x.placement(), std::move(kernel));
  return out;
}

AnyTensor launch_random(DType dtype, Shape shape, RandomDraw draw, Placement placement,
                        CallSite site) {
  const SiteScope scope(site);
  AnyTensor out = AnyTensor::allocate(dtype, std::move(shape), placement);
  Kernel kernel = elementwise(KernelKind::kRandom, {Broadcast::kNone, 1, out.shape().count()});
  kernel.parameters.distribution = draw.distribution;
  kernel.parameters.seed = draw.seed;
  kernel.parameters.offset = draw.offset;
  kernel.outputs = {out.view()};
  launch(placement, std::move(kernel));
  return out;
}

void update_unary(UnaryOp op, AnyTensor& x, Scalar scalar, std::string_view what, CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{what, site};
  require_storage(call, x);
  require_arithmetic(call, x.dtype());
  const BufferView& to = x.writable(true);
  run_unary(op, scalar, to, x);
}

void update_binary(BinaryOp op, AnyTensor& left, const AnyTensor& right, std::string_view what,
                   CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{what, site};
  const Fit fit = check_pair(call, left, right);
  require_binary(op, call, left.dtype());
  const BufferView& to = left.writable(true);
  run_binary(op, fit, to, left, right);
}

void update_scaled(BinaryOp op, AnyTensor& x, Scalar scale, const AnyTensor& y,
                   std::string_view what, CallSite site) {
  const TensorCall call{what, site};
  check_pair(call, x, y);
  update_binary(op, x, launch_unary(UnaryOp::kScale, y, scale, what, site), what, site);
}

}  // namespace belfry::detail
