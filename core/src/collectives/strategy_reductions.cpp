// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/strategy_reductions.h"

#include "belfry/backend/host_kernels.h"
#include "belfry/cross_device_ops.h"
#include "belfry/error.h"
#include "belfry/tensor.h"
#include "collectives/fold_own_leaf.h"
#include "collectives/linked_groups.h"
#include "collectives/reduction_in_parts.h"
#include "collectives/tensor_reductions.h"
#include "values/elsewhere.h"
#include "values/held.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace belfry {

void require_operator(ReduceOp op, CallSite site) {
  // A number that was read from a file may stand for no operator.
  if (op <= ReduceOp::kProd) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument, to_string(op) + " is no way to reduce values",
      "use an enumerator of ReduceOp: kSum, kMean, kMax, kMin or kProd", site);
}

void require_reducible(ReduceOp op, DType dtype, CallSite site) {
  require_operator(op, site);
  if (dtype == DType::kBool) {
    throw InvalidArgumentError(ErrorCode::kDType, "bool values cannot be reduced",
                               "cast them to an integer type first", site);
  }
  if (op == ReduceOp::kMean && !is_floating(dtype)) {
    throw InvalidArgumentError(
        ErrorCode::kIntegerMean, "MEAN over " + to_string(dtype) + " would lose the remainder",
        "convert to a floating-point type, SUM and divide as you mean it, or reduce by "
        "PromotedMean{} (doubles) or TruncatedMean{} in place of MEAN",
        site);
  }
}

void require_reducible(ReduceOp op, const LeafRef& leaf, CallSite site) {
  if (leaf.own == nullptr) return require_reducible(op, leaf.dtype, site);
  require_operator(op, site);
  const bool divides = op == ReduceOp::kMean;
  if (detail::is_additive(op) && (!divides || leaf.own->divide != nullptr)) return;
  const std::string type = detail::name_of(*leaf.own);
  if (!divides) {
    throw InvalidArgumentError(ErrorCode::kDType, "values of " + type + " have no " + to_string(op),
                               "reduce by SUM, or by a Reduction of your own", site);
  }
  throw InvalidArgumentError(ErrorCode::kDType, "values of " + type + " have no MEAN",
                             "write static " + type + " divide(const " + type +
                                 "& sum, int count) in ElementTraits, or reduce by SUM",
                             site);
}

}  // namespace belfry

namespace belfry::detail {

// How tensors are exchanged in parts, and memory for parts.
struct PartsOfProcesses {
  PartsExchange exchange;
  PartsRoom room{};
};

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

// `tree order`.
std::string in_words(ReductionOrder order) {
  return to_string(order) + (order == ReductionOrder::kReplicaOrder ? "" : " order");
}

// The number of leading parts, in whole tensors, with the element type of the first part.
std::size_t leading_parts_of_one_type(std::span<const CollectivePart> parts, std::size_t members) {
  const DType dtype = parts.front().input.dtype;
  std::size_t leading = members;
  while (leading < parts.size() && parts[leading].input.dtype == dtype) leading += members;
  return leading;
}

}  // namespace

// Without links an algorithm is chosen anew in each reduction: a communicator is made only when a
// reduction needs one. A log, links of the options, or groups of linked devices ask now.
void StrategyReductions::configure(const StrategyOptions& options, CallSite site) {
  check(options, site);
  std::shared_ptr<CrossDeviceOps> chosen = options.cross_device_ops;
  const bool is_open = chosen == nullptr && !options.order;
  const bool has_links =
      is_open && (!options.links.empty() || linked_groups(devices_, options.links).size != 0);
  if (has_links || (is_open && options.log)) {
    AlgorithmChoice choice = choose_the_best(devices_, options.links);
    if (options.log) options.log(choice.reason);
    if (options.log && !choice.warning.empty()) options.log("warning: " + choice.warning);
    // Without links the choice does the same as NativeAllReduce, also for replicas that take no
    // part.
    if (has_links) chosen = std::move(choice.algorithm);
  } else if (options.log) {
    options.log(sentence_about(options));
  }
  algorithm_ = std::move(chosen);
  order_ = options.order;
}

void StrategyReductions::span_processes(std::vector<int> devices, const Participants& own) {
  devices_ = ReplicaDevices::without_communicator(devices_.backend(), std::move(devices));
  own_ = own;
}

void StrategyReductions::join_processes(std::unique_ptr<Communicator> communicator) {
  cannot_join_processes_ = communicator == nullptr;
  process_communicator_ = std::move(communicator);
}

void StrategyReductions::exchange_parts(PartsExchange exchange) {
  if (parts_ == nullptr) parts_ = std::make_shared<PartsOfProcesses>(std::move(exchange));
}

void StrategyReductions::check(const StrategyOptions& options, CallSite site) {
  const std::optional<ReductionOrder> order = options.order;
  CrossDeviceOps* const algorithm = options.cross_device_ops.get();
  // A number that was read from a file may stand for no order.
  if (order && *order > ReductionOrder::kUnspecified) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               to_string(*order) + " is no order to reduce in",
                               "use an enumerator of ReductionOrder", site);
  }
  if (algorithm == nullptr) return;
  algorithm->require_fit(devices_);
  if (order && !algorithm->can_add_in(*order, devices_)) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "the algorithm '" + std::string(algorithm->name()) + "' cannot add in " + in_words(*order),
        "leave StrategyOptions::order empty, or use ReductionToOneDevice, which has every order",
        site);
  }
}

// About options that leave nothing to choose.
std::string StrategyReductions::sentence_about(const StrategyOptions& options) {
  if (options.cross_device_ops != nullptr) {
    return "tensors are reduced by the algorithm '" +
           std::string(options.cross_device_ops->name()) + "' of the options";
  }
  const Communicator* const communicator = devices_.communicator();
  if (communicator != nullptr && communicator->order() == *options.order) {
    return "tensors are reduced by the native algorithm, because the communicator has the named "
           "order";
  }
  return "tensors are reduced to one device, because the options name " + in_words(*options.order) +
         ", which the communicator does not have";
}

void StrategyReductions::all_reduce(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                                    bool everywhere, const Participants& present) {
  statistics_.reductions += 1;
  const std::vector<LeafRef>& first = parts.front();
  for (const LeafRef& leaf : first) require_reducible(op, leaf);
  KernelCall on_host = call_on_host(op);
  std::vector<std::size_t> tensors;
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    count_leaf(first[leaf], parts.size());
    if (first[leaf].own != nullptr) {
      fold_own_leaf(op, parts, leaf);
      if (everywhere) copy_own_leaf(parts, leaf);
    } else if (first[leaf].tensor == nullptr) {
      reduce_host_leaf(on_host, parts, leaf, everywhere);
    } else {
      tensors.push_back(leaf);
    }
  }
  if (!tensors.empty()) reduce_tensor_leaves(op, parts, tensors, present);
}

void StrategyReductions::reduce_on_host(ReduceOp op,
                                        std::span<const std::vector<LeafRef>> parts) const {
  for (const LeafRef& leaf : parts.front()) require_reducible(op, leaf);
  KernelCall call = call_on_host(op);
  for (std::size_t leaf = 0; leaf < parts.front().size(); ++leaf) {
    reduce_host_leaf(call, parts, leaf, false);
  }
}

CrossDeviceOps& StrategyReductions::algorithm() {
  return algorithm_ == nullptr ? native_ : *algorithm_;
}

// An algorithm that leaves the order to the communicator has replica order without one.
ReductionOrder StrategyReductions::order_of(const LeafRef& leaf, const Participants& present) {
  if (order_ || leaf.tensor == nullptr) return order_.value_or(ReductionOrder::kReplicaOrder);
  if (dynamic_cast<NativeAllReduce*>(&algorithm()) == nullptr) return algorithm().order(devices_);
  const Communicator* const communicator = present.is_all() ? devices_.communicator() : nullptr;
  const bool is_native = communicator != nullptr && communicator->supports(leaf.dtype);
  return is_native ? communicator->order() : ReductionOrder::kReplicaOrder;
}

KernelCall StrategyReductions::call_on_host(ReduceOp op) const {
  KernelCall call;
  call.kind = KernelKind::kReduceReplicas;
  call.parameters.reduce = op;
  call.parameters.order = order_.value_or(ReductionOrder::kReplicaOrder);
  return call;
}

void StrategyReductions::count(std::span<const LeafRef> leaves, std::size_t parts) {
  statistics_.reductions += 1;
  for (const LeafRef& leaf : leaves) count_leaf(leaf, parts);
}

void StrategyReductions::count_leaf(const LeafRef& leaf, std::size_t parts) {
  statistics_.bytes += leaf.bytes() * parts;
  (leaf.tensor == nullptr ? statistics_.host_leaves : statistics_.tensor_leaves) += 1;
}

// The elements of another process stay there: its parts have none. Or the host holds the elements
// for this reduction. Tensors of one batch may differ. An algorithm of the options was made to fit
// the devices of all replicas, and hears of a group as of replicas that take part.
void StrategyReductions::reduce_tensor_leaves(ReduceOp op,
                                              std::span<const std::vector<LeafRef>> parts,
                                              std::span<const std::size_t> leaves,
                                              const Participants& present) {
  std::vector<std::size_t> here;
  if (process_communicator_ != nullptr || parts_ != nullptr) {
    std::vector<std::size_t> staying;
    for (const std::size_t leaf : leaves) {
      const auto stays = [leaf](const auto& part) {
        return is_elsewhere(*part[leaf].tensor) || held(*part[leaf].tensor) != nullptr;
      };
      (std::ranges::any_of(parts, stays) ? staying : here).push_back(leaf);
    }
    if (!staying.empty()) {
      process_communicator_ != nullptr ? reduce_in_processes(op, parts, staying, present)
                                       : reduce_by_parts(op, parts, staying, present);
    }
    if (here.empty()) return;
    leaves = here;
  }
  const auto reduce = [&](std::span<const CollectivePart> collectives) {
    algorithm().all_reduce({.op = op,
                            .order = order_,
                            .parts = collectives,
                            .members = parts.size(),
                            .devices = algorithm_ == nullptr ? &joined_by(present) : &devices_});
  };
  reduce_where_they_are(parts, leaves, present, reduce);
}

ReplicaDevices& StrategyReductions::joined_by(const Participants& present) {
  if (!is_group(present) || present.is_all()) [[likely]] {
    return devices_;
  }
  std::vector<int> indices;
  for (int i = 0; i < present.count(); ++i) indices.push_back(devices_.index(present.id(i)));
  const auto found = group_devices_.find(indices);
  if (found != group_devices_.end()) return found->second;
  ReplicaDevices made(devices_.backend(), indices);
  return group_devices_.emplace(std::move(indices), std::move(made)).first->second;
}

void StrategyReductions::reduce_by_parts(ReduceOp op, std::span<const std::vector<LeafRef>> parts,
                                         std::span<const std::size_t> leaves,
                                         const Participants& present) {
  belfry::check(parts_ != nullptr, "tensors of other processes, and no exchange");
  ReductionInParts reduction(parts_->exchange, parts_->room, {present, own_, devices_});
  reduction.reduce(op, order_.value_or(ReductionOrder::kReplicaOrder), parts, leaves);
}

// Each process gives the parts of its own replicas to the communicator of all processes.
void StrategyReductions::reduce_in_processes(ReduceOp op,
                                             std::span<const std::vector<LeafRef>> parts,
                                             std::span<const std::size_t> leaves,
                                             const Participants& present) {
  std::vector<std::vector<LeafRef>> own;
  for (int i = 0; i < own_.count(); ++i) {
    own.push_back(parts[static_cast<std::size_t>(present.position(own_.id(i)))]);
  }
  const auto reduce = [&](std::span<const CollectivePart> collectives) {
    process_communicator_->run(
        {.kind = CollectiveKind::kAllReduce, .parts = collectives, .op = op});
  };
  reduce_where_they_are(own, leaves, own_, reduce);
}

// Streams wait for one another once for all leaves, and small results share storage: with small
// leaves, waits and allocations are most of the work. `reduce` is called once for each run of
// tensors with a common element type.
void StrategyReductions::reduce_where_they_are(std::span<const std::vector<LeafRef>> parts,
                                               std::span<const std::size_t> leaves,
                                               const Participants& present, Reduce reduce) {
  std::size_t small_bytes = 0;
  for (const std::size_t leaf : leaves) {
    small_bytes += ResultPages::stride_of(parts.front()[leaf].bytes());
  }
  std::vector<ResultPages> pages;
  pages.reserve(parts.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const int device = devices_.index(present.id(static_cast<int>(part)));
    pages.emplace_back(Placement{&devices_.backend(), device}, small_bytes);
  }
  TensorReductions reductions(parts, pages);
  reductions.prepare(leaves);
  reductions.follow_inputs();
  try {
    std::span<const CollectivePart> rest = reductions.collectives();
    while (!rest.empty()) {
      const std::size_t leading = leading_parts_of_one_type(rest, parts.size());
      reduce(rest.first(leading));
      rest = rest.subspan(leading);
    }
    reductions.leave_accesses();
  } catch (...) {
    reductions.precede_later_work();  // A part of the work may be enqueued.
    throw;
  }
  reductions.put_results(leaves);
}

}  // namespace belfry::detail
