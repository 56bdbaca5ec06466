// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_device_ops.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/order_after.h"

#include <utility>

namespace belfry {
namespace {

// The additions are work of `stream`.
void reduce_one(ReduceOp op, ReductionOrder order, std::span<const CollectivePart> parts,
                Stream& stream) {
  const BufferView& like = parts.front().input;
  Device& device = stream.device();
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  kernel.parameters.order = order;
  for (const CollectivePart& part : parts) {
    order_after(stream, *part.stream, part.stream->device());
    BufferView local = view_of(device.allocate(like.bytes(), stream), like.dtype);
    stream.copy(local, part.input);
    kernel.inputs.push_back(std::move(local));
  }
  const BufferView result = view_of(device.allocate(like.bytes(), stream), like.dtype);
  kernel.outputs.push_back(result);
  stream.launch(std::move(kernel));
  for (const CollectivePart& part : parts) {
    order_after(*part.stream, stream, device);
    part.stream->copy(part.output, result);
  }
}

}  // namespace

void ReductionToOneDevice::require_fit(const ReplicaDevices& devices) const {
  if (device_) static_cast<void>(devices.backend().index_of(*device_));
}

std::optional<ReductionPlan> ReductionToOneDevice::plan(int members) const {
  if (device_) return std::nullopt;
  return ShuffleAllReduce(1).plan(members);
}

void ReductionToOneDevice::all_reduce(const TensorReduction& reduction) {
  const ReductionOrder order = reduction.order.value_or(ReductionOrder::kReplicaOrder);
  Stream* stream = reduction.parts.front().stream;
  if (device_) {
    Backend& backend = reduction.devices->backend();
    stream = &backend.device(backend.index_of(*device_)).communication_stream();
  }
  for (std::size_t tensor = 0; tensor < reduction.tensors(); ++tensor) {
    reduce_one(reduction.op, order, reduction.tensor(tensor), *stream);
  }
}

}  // namespace belfry
