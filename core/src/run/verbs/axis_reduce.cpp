// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"
#include "belfry/backend/element_ops.h"
#include "belfry/detail/gather_values.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/error.h"
#include "words/sum_type.h"

#include <string>

namespace belfry::detail {

std::int64_t axis_count(const GatherCall& call, ReduceOp op, DType dtype,
                        const std::vector<Shape>& shapes) {
  require_reducible(op, dtype, call.site);
  const int number = gather_axis(shapes, call);
  std::int64_t count = 0;
  for (const Shape& shape : shapes) count += shape.extent(number);
  const bool needs_one = op != ReduceOp::kSum && op != ReduceOp::kProd;
  if (count == 0 && needs_one) throw_nothing_to_reduce(call.site);
  return count;
}

std::vector<AnyTensor> reduce_tensors_along(const GatherCall& call, ReduceOp op,
                                            const std::vector<AnyTensor>& parts) {
  const SiteScope scope(call.site);
  const CallSite site = call.site;
  std::vector<Shape> shapes;
  shapes.reserve(parts.size());
  for (const AnyTensor& part : parts) shapes.push_back(part.shape());
  const DType dtype = parts.front().dtype();
  const std::int64_t count = axis_count(call, op, dtype, shapes);
  const int number = gather_axis(shapes, call);
  // 16-bit floats stay float until the end, and are rounded once. Empty parts have the neutral
  // element.
  const FoldOp fold = element::fold_of(op);
  const DType wide = sum_type(dtype);
  std::vector<AnyTensor> sums;
  std::vector<std::vector<LeafRef>> leaves;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const int replica = call.present.id(static_cast<int>(part));
    const AnyTensor own = parts[part].copy_to(call.core.placement(replica));
    sums.push_back(launch_axis_fold(fold, wide == dtype ? own : launch_cast(own, wide, site),
                                    number, "reduce", site));
  }
  leaves.reserve(sums.size());
  for (AnyTensor& sum : sums) leaves.push_back({tensor_leaf(sum)});
  reduce_at(site, call.core, {partial_op(op), leaves, true, call.present});
  for (AnyTensor& sum : sums) {
    if (op == ReduceOp::kMean) {
      sum = launch_binary(BinaryOp::kDivide, sum, Scalar::of(static_cast<double>(count)), "reduce",
                          site);
    }
    if (wide != dtype) sum = launch_cast(sum, dtype, site);
  }
  return sums;
}

void throw_nothing_to_reduce(CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, "no replica has an element to reduce",
                             "a mean or an extreme of nothing is no number, and a sum of nothing "
                             "has no shape: leave the reduction out if all replicas are empty",
                             site);
}

}  // namespace belfry::detail
