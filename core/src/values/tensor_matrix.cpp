// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"
#include "belfry/backend/element_ops.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/error.h"
#include "values/tensor_operands.h"

#include <utility>

namespace belfry::detail {
namespace {

void require_indices(const TensorCall& call, const AnyTensor& table, const AnyTensor& indices) {
  require_storage(call, table);
  require_storage(call, indices);
  require_same_device(call, table, indices);
  require_matrix(call, table);
  if (indices.shape().rank() == 1) return;
  throw_shapes(call, table.shape(), indices.shape(), "the indices have one axis");
}

}  // namespace

AnyTensor launch_fold(FoldOp op, bool rows, const AnyTensor& x, std::string_view what,
                      CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{what, site};
  require_storage(call, x);
  require_matrix(call, x);
  const bool is_extreme = op == FoldOp::kMaximum || op == FoldOp::kMinimum;
  if (is_extreme && x.shape().extent(rows ? 1 : 0) == 0 && x.shape().extent(rows ? 0 : 1) != 0) {
    throw InvalidArgumentError(ErrorCode::kShape,
                               std::string(what) + " of a tensor " + to_string(x.shape()),
                               "there is no largest element among none", site);
  }
  return fold_matrix(op, rows, x, call);
}

AnyTensor fold_matrix(FoldOp op, bool rows, const AnyTensor& x, const TensorCall& call) {
  if (!element::supports(op, x.dtype())) require_arithmetic(call, x.dtype());
  const Shape shape{x.shape().extent(rows ? 0 : 1)};
  AnyTensor out = AnyTensor::allocate(x.dtype(), shape, x.placement());
  Kernel kernel;
  kernel.kind = rows ? KernelKind::kRowReduce : KernelKind::kColumnReduce;
  kernel.parameters.fold = op;
  kernel.parameters.rows = x.shape().extent(0);
  kernel.parameters.columns = x.shape().extent(1);
  kernel.outputs = {out.view()};
  kernel.inputs = {x.view()};
  launch(x.placement(), std::move(kernel));
  return out;
}

AnyTensor launch_matmul(const AnyTensor& left, const AnyTensor& right, MatmulTransposes transposes,
                        CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{"matmul", site};
  require_storage(call, left);
  require_storage(call, right);
  require_same_type(call, left, right);
  require_same_device(call, left, right);
  require_matrix(call, left);
  require_matrix(call, right);
  require_arithmetic(call, left.dtype());
  const std::int64_t inner = left.shape().extent(transposes.left ? 0 : 1);
  if (inner != right.shape().extent(transposes.right ? 1 : 0)) {
    throw_shapes(call, left.shape(), right.shape(),
                 std::string("[r,k] times [k,c], after the transposes asked for (a: ") +
                     (transposes.left ? "yes" : "no") +
                     ", b: " + (transposes.right ? "yes" : "no") + ")");
  }
  Kernel kernel;
  kernel.kind = KernelKind::kMatmul;
  kernel.parameters.transpose_left = transposes.left;
  kernel.parameters.transpose_right = transposes.right;
  kernel.parameters.rows = left.shape().extent(transposes.left ? 1 : 0);
  kernel.parameters.columns = right.shape().extent(transposes.right ? 0 : 1);
  kernel.parameters.inner = inner;
  const Shape shape{kernel.parameters.rows, kernel.parameters.columns};
  AnyTensor out = AnyTensor::allocate(left.dtype(), shape, left.placement());
  kernel.outputs = {out.view()};
  kernel.inputs = {left.view(), right.view()};
  launch(left.placement(), std::move(kernel));
  return out;
}

AnyTensor launch_gather_rows(const AnyTensor& table, const AnyTensor& indices, CallSite site) {
  const SiteScope scope(site);
  require_indices({"gather_rows", site}, table, indices);
  const Shape shape{indices.shape().count(), table.shape().extent(1)};
  AnyTensor out = AnyTensor::allocate(table.dtype(), shape, table.placement());
  Kernel kernel;
  kernel.kind = KernelKind::kGatherRows;
  kernel.parameters.rows = shape.extent(0);
  kernel.parameters.columns = shape.extent(1);
  kernel.outputs = {out.view()};
  kernel.inputs = {indices.view(), table.view()};
  launch(table.placement(), std::move(kernel));
  return out;
}

void update_scatter_rows(ScatterOp op, AnyTensor& table, const AnyTensor& indices,
                         const AnyTensor& rows, std::string_view what, CallSite site) {
  const SiteScope scope(site);
  const TensorCall call{what, site};
  require_indices(call, table, indices);
  require_storage(call, rows);
  require_same_type(call, table, rows);
  require_same_device(call, table, rows);
  if (op != ScatterOp::kSet) require_arithmetic(call, table.dtype());
  const Shape expected{indices.shape().count(), table.shape().extent(1)};
  if (rows.shape() != expected) {
    throw_shapes(call, table.shape(), rows.shape(),
                 "for these indices the rows are " + to_string(expected));
  }
  if (expected.count() == 0) return;
  // A second handle: if the rows are the table itself, the kernel reads the rows from separate
  // storage.
  const AnyTensor scattered = rows;  // NOLINT(performance-unnecessary-copy-initialization)
  Kernel kernel;
  kernel.kind = KernelKind::kScatterRows;
  kernel.parameters.scatter = op;
  kernel.parameters.rows = expected.extent(0);
  kernel.parameters.columns = expected.extent(1);
  kernel.outputs = {table.writable(true)};
  kernel.inputs = {indices.view(), scattered.view()};
  launch(table.placement(), std::move(kernel));
}

}  // namespace belfry::detail
