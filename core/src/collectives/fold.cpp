// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/access_order.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/tensor.h"
#include "collectives/fold_leaf.h"
#include "collectives/fold_own_leaf.h"
#include "words/sum_type.h"

#include <algorithm>
#include <utility>

namespace belfry::detail {
namespace {

// Each backend has kernels of this many inputs.
constexpr std::size_t kMostInputs = 32;

void fold_host_leaf(ReduceOp op, std::span<const std::vector<LeafRef>> parts, std::size_t leaf) {
  KernelCall call;
  call.kind = KernelKind::kReduceReplicas;
  call.parameters.reduce = op;
  for (const auto& part : parts) {
    call.inputs.push_back({part[leaf].data, part[leaf].count, part[leaf].dtype});
  }
  call.outputs = {call.inputs.front()};
  run_on_host(call);
}

AnyTensor fold_by_one_kernel(ReduceOp op, std::span<const AnyTensor> parts) {
  const AnyTensor& first = parts.front();
  AnyTensor result = AnyTensor::allocate(first.dtype(), first.shape(), first.placement());
  if (first.shape().count() == 0) return result;
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  for (const AnyTensor& part : parts) kernel.inputs.push_back(part.view());
  kernel.outputs = {result.view()};
  launch_in_order(device_of(first.placement()).compute_stream(), std::move(kernel));
  return result;
}

// A left fold as well: the first input of each kernel is the sum of the kernel before. Sums of
// 16-bit floats are floats until the last rounding.
AnyTensor fold_by_several_kernels(ReduceOp op, std::vector<AnyTensor> parts) {
  const DType dtype = parts.front().dtype();
  const DType wide = sum_type(dtype);
  if (wide != dtype) {
    for (AnyTensor& part : parts) part = launch_cast(part, wide, {});
  }
  AnyTensor sum = parts.front();
  for (std::size_t done = 1; done < parts.size(); done += kMostInputs - 1) {
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(done);
    const std::size_t more = std::min(kMostInputs - 1, parts.size() - done);
    std::vector<AnyTensor> group{std::move(sum)};
    group.insert(group.end(), begin, begin + static_cast<std::ptrdiff_t>(more));
    sum = fold_by_one_kernel(partial_op(op), group);
  }
  if (op == ReduceOp::kMean) {
    const auto count = static_cast<double>(parts.size());
    sum = launch_binary(BinaryOp::kDivide, sum, Scalar::of(count), "reduce", {});
  }
  return wide == dtype ? sum : launch_cast(sum, dtype, {});
}

AnyTensor fold_tensors(ReduceOp op, std::vector<AnyTensor> parts) {
  return parts.size() <= kMostInputs ? fold_by_one_kernel(op, parts)
                                     : fold_by_several_kernels(op, std::move(parts));
}

}  // namespace

void fold_leaf(ReduceOp op, std::span<const std::vector<LeafRef>> parts, std::size_t leaf) {
  const LeafRef& first = parts.front()[leaf];
  if (first.own != nullptr) return fold_own_leaf(op, parts, leaf);
  if (first.tensor == nullptr) return fold_host_leaf(op, parts, leaf);
  std::vector<AnyTensor> tensors;
  for (const auto& part : parts) {
    tensors.push_back(part[leaf].tensor->copy_to(first.tensor->placement()));
  }
  *first.tensor = fold_tensors(op, std::move(tensors));
}

void StrategyReductions::fold(ReduceOp op, std::span<const std::vector<LeafRef>> parts) {
  statistics_.reductions += 1;
  const std::vector<LeafRef>& first = parts.front();
  const Placement place{&devices_.backend(), devices_.index(0)};
  for (const LeafRef& leaf : first) require_reducible(op, leaf);
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    count_leaf(first[leaf], parts.size());
    if (AnyTensor* const tensor = first[leaf].tensor) *tensor = tensor->copy_to(place);
    fold_leaf(op, parts, leaf);
  }
}

}  // namespace belfry::detail
