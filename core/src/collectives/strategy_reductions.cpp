// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/strategy_reductions.h"

#include "belfry/backend/host_kernels.h"
#include "belfry/error.h"
#include "belfry/tensor.h"
#include "collectives/require_reducible.h"
#include "collectives/result_pages.h"
#include "collectives/tensor_reductions.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

KernelOperand host_operand(const LeafRef& leaf) { return {leaf.data, leaf.count, leaf.dtype}; }

// `call` has the operator and the order, and keeps its memory from leaf to leaf.
void reduce_host_leaf(KernelCall& call, std::span<const std::vector<LeafRef>> parts,
                      std::size_t leaf, bool everywhere) {
  call.inputs.clear();
  for (const auto& part : parts) call.inputs.push_back(host_operand(part[leaf]));
  const auto outputs = static_cast<std::ptrdiff_t>(everywhere ? parts.size() : 1);
  call.outputs.assign(call.inputs.begin(), call.inputs.begin() + outputs);
  reduce_on_host(call);
}

// The descriptions of this many leaves stay in a processor's cache from preparation to enqueueing.
constexpr std::size_t kLeavesAtOnce = 32;

// The number of leading parts, in whole tensors, with the element type of the first part.
std::size_t leading_parts_of_one_type(std::span<const CollectivePart> parts, std::size_t members) {
  const DType dtype = parts.front().input.dtype;
  std::size_t leading = members;
  while (leading < parts.size() && parts[leading].input.dtype == dtype) leading += members;
  return leading;
}

}  // namespace

void StrategyReductions::configure(std::shared_ptr<CrossDeviceOps> algorithm,
                                   std::optional<ReductionOrder> order, CallSite site) {
  // A number that was read from a file may stand for no order.
  if (order && *order > ReductionOrder::kUnspecified) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               to_string(*order) + " is no order to reduce in",
                               "use an enumerator of ReductionOrder", site);
  }
  if (order && algorithm != nullptr && !algorithm->can_add_in(*order, devices_)) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "the algorithm '" + std::string(algorithm->name()) + "' cannot add in " +
            to_string(*order) + (*order == ReductionOrder::kReplicaOrder ? "" : " order"),
        "leave StrategyOptions::order empty, or use ReductionToOneDevice, which has every order",
        site);
  }
  if (algorithm != nullptr) algorithm->require_fit(devices_);
  algorithm_ = std::move(algorithm);
  order_ = order;
}

void StrategyReductions::all_reduce(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                                    bool everywhere, const Participants& present) {
  statistics_.reductions += 1;
  const std::vector<LeafRef>& first = parts.front();
  for (const LeafRef& leaf : first) require_reducible(op, leaf.dtype);
  KernelCall on_host;
  on_host.kind = KernelKind::kReduceReplicas;
  on_host.parameters.reduce = op;
  on_host.parameters.order = order_.value_or(ReductionOrder::kReplicaOrder);
  std::vector<std::size_t> tensors;
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    count_leaf(first[leaf], parts.size());
    if (first[leaf].tensor == nullptr) {
      reduce_host_leaf(on_host, parts, leaf, everywhere);
    } else {
      tensors.push_back(leaf);
    }
  }
  if (!tensors.empty()) reduce_tensor_leaves(op, parts, tensors, present);
}

void StrategyReductions::count_leaf(const LeafRef& leaf, std::size_t parts) {
  statistics_.bytes += leaf.bytes() * parts;
  (leaf.tensor == nullptr ? statistics_.host_leaves : statistics_.tensor_leaves) += 1;
}

// Streams wait for one another once for all leaves, and small results share storage: with small
// leaves, waits and allocations are most of the work.
void StrategyReductions::reduce_tensor_leaves(ReduceOp op,
                                              std::span<const std::vector<LeafRef>> parts,
                                              std::span<const std::size_t> leaves,
                                              const Participants& present) {
  std::size_t small_bytes = 0;
  for (const std::size_t leaf : leaves) {
    small_bytes += ResultPages::stride_of(parts.front()[leaf].bytes());
  }
  std::vector<ResultPages> pages;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const int device = devices_.index(present.id(static_cast<int>(part)));
    pages.emplace_back(Placement{&devices_.backend(), device}, small_bytes);
  }
  TensorReductions reductions(parts, pages);
  try {
    for (std::size_t begin = 0; begin < leaves.size(); begin += kLeavesAtOnce) {
      const auto some = leaves.subspan(begin, std::min(kLeavesAtOnce, leaves.size() - begin));
      reductions.prepare(some);
      reductions.follow_inputs();
      reduce_tensors(op, reductions.collectives(), parts.size());
      reductions.put_results(some);
    }
  } catch (...) {
    reductions.precede_later_work();  // The caller has the results of earlier leaves.
    throw;
  }
  reductions.precede_later_work();
}

// One call of the algorithm for each run of tensors with a common element type.
void StrategyReductions::reduce_tensors(ReduceOp op, std::span<const CollectivePart> parts,
                                        std::size_t members) {
  while (!parts.empty()) {
    const std::size_t leading = leading_parts_of_one_type(parts, members);
    algorithm().all_reduce({.op = op,
                            .order = order_,
                            .parts = parts.first(leading),
                            .members = members,
                            .devices = &devices_});
    parts = parts.subspan(leading);
  }
}

}  // namespace belfry::detail
