// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_device_ops.h"

#include "belfry/any_tensor.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/error.h"
#include "collectives/order_after.h"
#include "collectives/require_reducible.h"

#include <utility>

namespace belfry {
namespace {

KernelOperand host_operand(const LeafRef& leaf) { return {leaf.data, leaf.count, leaf.dtype}; }

// `call` says how.
void reduce_host_leaf(KernelCall& call, std::span<const std::vector<LeafRef>> parts,
                      std::size_t leaf, bool everywhere) {
  call.inputs.clear();
  for (const auto& part : parts) call.inputs.push_back(host_operand(part[leaf]));
  const auto outputs = static_cast<std::ptrdiff_t>(everywhere ? parts.size() : 1);
  call.outputs.assign(call.inputs.begin(), call.inputs.begin() + outputs);
  run_on_host(call);
}

}  // namespace

void order_after(Stream& later, Stream& earlier, Device& device) {
  const auto done = device.create_event();
  earlier.record(*done);
  later.wait(*done);
}

CrossDeviceOps::CrossDeviceOps(Backend& backend, std::vector<int> devices,
                               std::optional<ReductionOrder> order)
    : backend_(backend), devices_(std::move(devices)), order_(order) {}

Communicator& CrossDeviceOps::communicator() {
  if (communicator_ == nullptr) communicator_ = backend_.communicator(devices_);
  return *communicator_;
}

ReductionOrder CrossDeviceOps::tensor_order() { return order_ ? *order_ : communicator().order(); }

void CrossDeviceOps::all_reduce(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                                bool everywhere, const detail::Participants& present) {
  statistics_.reductions += 1;
  const std::vector<LeafRef>& first = parts.front();
  for (const LeafRef& leaf : first) require_reducible(op, leaf.dtype);
  KernelCall on_host;  // One for all leaves: it keeps its memory.
  on_host.kind = KernelKind::kReduceReplicas;
  on_host.parameters.reduce = op;
  on_host.parameters.order = order_.value_or(ReductionOrder::kReplicaOrder);
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    statistics_.bytes += first[leaf].bytes() * parts.size();
    if (first[leaf].tensor == nullptr) {
      statistics_.host_leaves += 1;
      reduce_host_leaf(on_host, parts, leaf, everywhere);
    } else {
      statistics_.tensor_leaves += 1;
      reduce_tensor_leaf(op, parts, leaf, present);
    }
  }
}

void CrossDeviceOps::reduce_tensor_leaf(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                                        std::size_t leaf, const detail::Participants& present) {
  std::vector<CollectivePart> collective;
  std::vector<AnyTensor> results;
  collective.reserve(parts.size());
  const auto device_at = [&](std::size_t part) {
    return devices_[static_cast<std::size_t>(present.id(static_cast<int>(part)))];
  };
  for (std::size_t part = 0; part < parts.size(); ++part) {
    AnyTensor& tensor = *parts[part][leaf].tensor;
    const Placement here{&backend_, device_at(part)};
    tensor = tensor.copy_to(here);
    Device& device = device_of(here);
    const BufferView input = tensor.view();
    // Alone in its storage, the input may be overwritten: the fastest form (the kernel allows it).
    results.push_back(input.buffer.use_count() <= 2
                          ? tensor
                          : AnyTensor::allocate(tensor.dtype(), tensor.shape(), here));
    order_after(device.communication_stream(), device.compute_stream(), device);
    collective.push_back({input, results.back().view(), &device.communication_stream()});
  }
  combine(op, collective, parts.front()[leaf]);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    Device& device = backend_.device(device_at(part));
    order_after(device.compute_stream(), device.communication_stream(), device);
    *parts[part][leaf].tensor = std::move(results[part]);
  }
}

void CrossDeviceOps::combine(ReduceOp op, std::span<const CollectivePart> parts,
                             const LeafRef& like) {
  const auto natively = [&] {
    try {
      if (order_ && *order_ != communicator().order()) return false;
      communicator().all_reduce(op, parts);
      return true;
    } catch (const UnsupportedError&) {
      // The hardware's library lacks an element type that kernels have, or cannot be used here;
      // nothing is enqueued yet.
      return false;
    }
  };
  if (parts.size() == devices_.size() && natively()) return;
  compose(op, order_.value_or(ReductionOrder::kReplicaOrder), parts, like);
}

// Inputs to the first part's device, one kernel there, results back: every order on every backend.
void CrossDeviceOps::compose(ReduceOp op, ReductionOrder order,
                             std::span<const CollectivePart> parts, const LeafRef& like) {
  Device& root = parts.front().stream->device();
  Stream& stream = root.communication_stream();
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  kernel.parameters.order = order;
  for (const CollectivePart& part : parts) {
    order_after(stream, *part.stream, part.stream->device());
    BufferView local = view_of(root.allocate(like.bytes(), stream), like.dtype);
    stream.copy(local, part.input);
    kernel.inputs.push_back(std::move(local));
  }
  const BufferView result = view_of(root.allocate(like.bytes(), stream), like.dtype);
  kernel.outputs.push_back(result);
  stream.launch(std::move(kernel));
  for (const CollectivePart& part : parts) {
    order_after(*part.stream, stream, root);
    part.stream->copy(part.output, result);
  }
}

}  // namespace belfry
