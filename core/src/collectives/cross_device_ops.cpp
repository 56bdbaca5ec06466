// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_device_ops.h"

#include "belfry/backend/host_kernels.h"
#include "belfry/error.h"
#include "belfry/tensor.h"
#include "collectives/order_after.h"
#include "collectives/require_reducible.h"
#include "collectives/result_pages.h"
#include "collectives/tensor_reductions.h"

#include <algorithm>
#include <cstddef>
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
  reduce_on_host(call);
}

// As many as stay in a cache between being looked at and being enqueued.
constexpr std::size_t kLeavesAtOnce = 32;

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
  std::vector<std::size_t> tensors;
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    statistics_.bytes += first[leaf].bytes() * parts.size();
    if (first[leaf].tensor == nullptr) {
      statistics_.host_leaves += 1;
      reduce_host_leaf(on_host, parts, leaf, everywhere);
    } else {
      statistics_.tensor_leaves += 1;
      tensors.push_back(leaf);
    }
  }
  if (!tensors.empty()) reduce_tensor_leaves(op, parts, tensors, present);
}

// Streams wait for one another once for many leaves, and results share storage: with small ones
// that is most of the work.
void CrossDeviceOps::reduce_tensor_leaves(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                                          std::span<const std::size_t> leaves,
                                          const detail::Participants& present) {
  std::size_t small_bytes = 0;
  for (const std::size_t leaf : leaves) {
    small_bytes += ResultPages::stride_of(parts.front()[leaf].bytes());
  }
  std::vector<ResultPages> pages;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const int device = devices_[static_cast<std::size_t>(present.id(static_cast<int>(part)))];
    pages.emplace_back(Placement{&backend_, device}, small_bytes);
  }
  TensorReductions reductions(parts, pages);
  try {
    for (std::size_t begin = 0; begin < leaves.size(); begin += kLeavesAtOnce) {
      const auto some = leaves.subspan(begin, std::min(kLeavesAtOnce, leaves.size() - begin));
      reductions.prepare(some);
      reductions.follow_inputs();
      combine(op, reductions.collectives(), parts.size());
      reductions.put_results(some);
    }
  } catch (...) {
    reductions.precede_later_work();  // Leaves that are done already are the caller's.
    throw;
  }
  reductions.precede_later_work();
}

// Of `collectives`, each of `members` parts, those of one element type are one call.
void CrossDeviceOps::combine(ReduceOp op, std::span<const CollectivePart> collectives,
                             std::size_t members) {
  while (!collectives.empty()) {
    std::size_t alike = members;
    const DType dtype = collectives.front().input.dtype;
    while (alike < collectives.size() && collectives[alike].input.dtype == dtype) alike += members;
    const auto call = collectives.first(alike);
    collectives = collectives.subspan(alike);
    if (members == devices_.size() && combine_natively(op, call)) continue;
    for (std::size_t first = 0; first < call.size(); first += members) {
      compose(op, order_.value_or(ReductionOrder::kReplicaOrder), call.subspan(first, members));
    }
  }
}

bool CrossDeviceOps::combine_natively(ReduceOp op, std::span<const CollectivePart> parts) {
  try {
    if (order_ && *order_ != communicator().order()) return false;
    communicator().all_reduce(op, parts);
    return true;
  } catch (const UnsupportedError&) {
    // The hardware's library lacks an element type that kernels have, or cannot be used here;
    // nothing is enqueued yet.
    return false;
  }
}

// Inputs to the first part's device, one kernel there, results back: every order on every backend.
void CrossDeviceOps::compose(ReduceOp op, ReductionOrder order,
                             std::span<const CollectivePart> parts) {
  const BufferView& like = parts.front().input;
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
