// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "belfry/cross_device_ops.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/tensor.h"
#include "collectives/require_reducible.h"

#include <algorithm>
#include <utility>

namespace belfry {
namespace {

// The kernels of every backend take this many inputs.
constexpr std::size_t kAtOnce = 32;

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

AnyTensor fold_once(ReduceOp op, std::span<const AnyTensor> parts) {
  const AnyTensor& first = parts.front();
  AnyTensor result = AnyTensor::allocate(first.dtype(), first.shape(), first.placement());
  if (first.shape().count() == 0) return result;
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  for (const AnyTensor& part : parts) kernel.inputs.push_back(part.view());
  kernel.outputs = {result.view()};
  device_of(first.placement()).compute_stream().launch(std::move(kernel));
  return result;
}

// Kernel after kernel, each going on where the one before stopped: still a left fold. 16-bit floats
// are kept as float in between, and rounded once.
AnyTensor fold_many(ReduceOp op, std::vector<AnyTensor> parts) {
  const DType dtype = parts.front().dtype();
  const DType wide = is_floating(dtype) && size_of(dtype) == 2 ? DType::kFloat32 : dtype;
  if (wide != dtype) {
    for (AnyTensor& part : parts) part = detail::launch_cast(part, wide, {});
  }
  AnyTensor sum = parts.front();
  for (std::size_t done = 1; done < parts.size(); done += kAtOnce - 1) {
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(done);
    const std::size_t more = std::min(kAtOnce - 1, parts.size() - done);
    std::vector<AnyTensor> group{std::move(sum)};
    group.insert(group.end(), begin, begin + static_cast<std::ptrdiff_t>(more));
    sum = fold_once(ReduceOp::kSum, group);
  }
  if (op == ReduceOp::kMean) {
    const auto count = static_cast<double>(parts.size());
    sum = detail::launch_binary(BinaryOp::kDivide, sum, detail::Scalar::of(count), "reduce", {});
  }
  return wide == dtype ? sum : detail::launch_cast(sum, dtype, {});
}

}  // namespace

void CrossDeviceOps::fold(ReduceOp op, std::span<const std::vector<LeafRef>> parts) {
  statistics_.reductions += 1;
  const std::vector<LeafRef>& first = parts.front();
  const Placement here{&backend_, devices_.front()};
  for (const LeafRef& leaf : first) require_reducible(op, leaf.dtype);
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    statistics_.bytes += first[leaf].bytes() * parts.size();
    if (first[leaf].tensor == nullptr) {
      statistics_.host_leaves += 1;
      fold_host_leaf(op, parts, leaf);
      continue;
    }
    statistics_.tensor_leaves += 1;
    std::vector<AnyTensor> tensors;
    for (const auto& part : parts) tensors.push_back(part[leaf].tensor->copy_to(here));
    *first[leaf].tensor =
        tensors.size() <= kAtOnce ? fold_once(op, tensors) : fold_many(op, std::move(tensors));
  }
}

}  // namespace belfry
