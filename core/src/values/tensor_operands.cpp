// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "values/tensor_operands.h"

#include "backend/access_order.h"
#include "belfry/backend/backend.h"
#include "belfry/backend/element_ops.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/error.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

std::string text(const TensorCall& call, std::string_view rest) {
  return std::string(call.what) + ": " + std::string(rest);
}

std::string device_text(const Placement& placement) {
  const DeviceSpec spec = placement.backend->device_spec(placement.device);
  return std::string(placement.backend->name()) + " device " + spec.type + ':' +
         std::to_string(spec.index);
}

// Whether `right` is `left` with extent 1 in its last axis.
bool is_column(const Shape& left, const Shape& right) {
  if (left.rank() < 2 || left.rank() != right.rank() || right.extents().back() != 1) return false;
  return std::equal(left.extents().begin(), left.extents().end() - 1, right.extents().begin());
}

// Whether `right` is [columns], with any number of leading ones.
bool is_row(const Shape& left, const Shape& right) {
  return left.rank() >= 1 && right.rank() >= 1 && right.rank() <= left.rank() &&
         right.count() == left.extents().back() && right.extents().back() == left.extents().back();
}

}  // namespace

void require_storage(const TensorCall& call, const AnyTensor& x) {
  touched(&x, sizeof x, false, call.site);
  if (!x.empty()) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             text(call, "a default-constructed tensor was used"),
                             "make it with Tensor::from, full or zeros", call.site);
}

void require_arithmetic(const TensorCall& call, DType dtype) {
  if (element::is_numeric(dtype)) return;
  throw InvalidArgumentError(ErrorCode::kDType,
                             text(call, "tensors of " + to_string(dtype) + " have no arithmetic"),
                             "cast them to a numeric element type first, such as int32", call.site);
}

void require_same_type(const TensorCall& call, const AnyTensor& left, const AnyTensor& right) {
  if (left.dtype() == right.dtype()) return;
  throw InvalidArgumentError(
      ErrorCode::kDType,
      text(call, "element types " + to_string(left.dtype()) + " and " + to_string(right.dtype())),
      "cast one of the operands", call.site);
}

void require_same_device(const TensorCall& call, const AnyTensor& left, const AnyTensor& right) {
  if (left.placement() == right.placement()) return;
  const bool one_backend = left.placement().backend == right.placement().backend;
  throw InvalidArgumentError(
      ErrorCode::kForeignObject,
      text(call, "operands " + to_string(left.shape()) + " on " + device_text(left.placement()) +
                     " and " + to_string(right.shape()) + " on " + device_text(right.placement()) +
                     (one_backend ? "" : " of different backends")),
      one_backend ? "copy one to the other's device with copy_to"
                  : "read one with to_host and make it anew on the other's backend",
      call.site);
}

void require_matrix(const TensorCall& call, const AnyTensor& x) {
  if (x.shape().rank() == 2) return;
  throw InvalidArgumentError(ErrorCode::kShape,
                             text(call, "shape " + to_string(x.shape()) + " is not a matrix"),
                             "reshape the tensor to two axes", call.site);
}

void throw_shapes(const TensorCall& call, const Shape& left, const Shape& right, std::string hint) {
  throw InvalidArgumentError(
      ErrorCode::kShape,
      text(call, "shapes " + to_string(left) + " and " + to_string(right) + " do not fit"),
      std::move(hint), call.site);
}

Fit fit(const TensorCall& call, const Shape& left, const Shape& right) {
  if (left == right) return {Broadcast::kNone, 1, left.count()};
  if (right.count() == 1) return {Broadcast::kScalar, 1, left.count()};
  const std::int64_t columns = left.rank() == 0 ? 1 : left.extents().back();
  const std::int64_t rows = columns == 0 ? 0 : left.count() / columns;
  if (is_column(left, right)) return {Broadcast::kColumn, rows, columns};
  if (is_row(left, right)) return {Broadcast::kRow, rows, columns};
  throw_shapes(call, left, right,
               left.count() < right.count()
                   ? "the left operand is the larger one: its shape is the result's"
                   : "the right one must have the left one's shape, be a row [c] or a column "
                     "[r,1] of it (see as_column), or have one element");
}

void launch(const Placement& placement, Kernel kernel) {
  const bool nothing =
      std::ranges::all_of(kernel.outputs, [](const BufferView& view) { return view.count == 0; });
  if (!nothing) launch_in_order(device_of(placement).compute_stream(), std::move(kernel));
}

}  // namespace belfry::detail
