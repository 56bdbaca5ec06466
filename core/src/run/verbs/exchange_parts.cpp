// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Parts of tensors and lists along an axis, and their reductions. The rows of a part go from every
// replica to the device of the owner, and are reduced there.
#include "belfry/detail/exchange_parts.h"

#include "backend/access_order.h"
#include "backend/part_of.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/detail/tensor_moves.h"
#include "kernels/reduce_call.h"
#include "run/verbs/sum_overflow.h"
#include "values/elsewhere.h"

#include <algorithm>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

// The elements [begin, end) of a part, added from input `first` on, cyclically.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t first = 0;
};

struct PartOfShape {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::size_t count() const { return static_cast<std::size_t>(outer * (end - begin) * inner); }
  std::size_t whole() const { return static_cast<std::size_t>(outer * extent * inner); }
  // The number of elements of the part among the first `elements` of the whole.
  std::size_t among(std::size_t elements) const {
    const std::int64_t row = extent * inner;
    const auto all = static_cast<std::int64_t>(elements);
    const std::int64_t own = (end - begin) * inner;
    const std::int64_t rest = std::clamp(all % row - begin * inner, std::int64_t{0}, own);
    return static_cast<std::size_t>(all / row * own + rest);
  }
};

PartOfShape part_of_shape(const Shape& shape, const AxisCuts& cuts, int part) {
  const auto at = static_cast<std::size_t>(part);
  return {extents_product(shape, 0, cuts.axis), shape.extent(cuts.axis),
          extents_product(shape, cuts.axis + 1, shape.rank()), cuts.begins[at],
          cuts.begins[at + 1]};
}

Shape part_shape(const Shape& shape, const AxisCuts& cuts, int part) {
  const auto at = static_cast<std::size_t>(part);
  return with_extent(shape, cuts.axis, cuts.begins[at + 1] - cuts.begins[at]);
}

// In ring order the place of an element in the whole decides where its additions begin. The
// elements of a chunk of the whole lie together in the part, too.
std::vector<Piece> pieces_of(const PartOfShape& part, ReductionOrder order, std::size_t inputs) {
  if (part.count() == 0) return {};
  if (order != ReductionOrder::kRing) return {{0, part.count(), 0}};
  const std::size_t chunk = kernels::ring_chunk(part.whole(), inputs);
  std::vector<Piece> pieces;
  for (std::size_t first = 0; first < inputs; ++first) {
    const std::size_t begin = part.among(std::min(first * chunk, part.whole()));
    const std::size_t end = part.among(std::min((first + 1) * chunk, part.whole()));
    if (begin < end) pieces.push_back({begin, end, first});
  }
  return pieces;
}

// The order of the kernel of a piece.
ReductionOrder order_in_piece(ReductionOrder order) {
  return order == ReductionOrder::kTree ? order : ReductionOrder::kReplicaOrder;
}

std::size_t input_at(const Piece& piece, std::size_t step, std::size_t inputs) {
  return (piece.first + step) % inputs;
}

ReduceOp op_of(const PartsReduction& reduction) {
  return static_cast<ReduceOp>(reduction.exchange.args.op);
}

ReductionOrder order_of(const PartsReduction& reduction, std::size_t leaf) {
  return reduction.exchange.core.reductions().order_of(reduction.inputs.front()[leaf],
                                                       reduction.exchange.present);
}

// A tensor of replica `from` that is cut into parts.
struct CutTensor {
  const AnyTensor& whole;
  int from;
  const AxisCuts& cuts;
  std::size_t leaf;
  std::map<int, AnyTensor> arrived{};  // From other processes, by position.

  AnyTensor part(int position, CallSite site) const {
    const auto found = arrived.find(position);
    if (found != arrived.end()) return found->second;
    const auto at = static_cast<std::size_t>(position);
    return launch_slice(whole, cuts.axis, cuts.begins[at], cuts.begins[at + 1], site);
  }
};

// Moves parts to the replicas of other processes.
void bring_parts(const Exchange& exchange, std::vector<CutTensor>& tensors) {
  if (!exchange.on_devices) return;
  const Participants& own = exchange.core.own();
  TensorMoves moves(exchange.core, true);
  for (CutTensor& tensor : tensors) {
    for (int position = 0; position < exchange.members.count(); ++position) {
      const int to = exchange.members.id(position);
      if (own.has(tensor.from) == own.has(to)) continue;
      if (own.has(tensor.from)) {
        try {
          moves.add(tensor.part(position, exchange.site), tensor.from, {to});
        } catch (...) {
          moves.fail(std::current_exception());
        }
        continue;
      }
      const Shape shape = part_shape(tensor.whole.shape(), tensor.cuts, position);
      const Placement place = exchange.core.placement(to);
      tensor.arrived.emplace(
          position, moves.add(elsewhere(tensor.whole.dtype(), shape, place), tensor.from, {to}));
    }
  }
  moves.run(exchange.site);
}

PartsOfLeaves no_parts(const Exchange& exchange, std::size_t leaves) {
  return PartsOfLeaves(leaves,
                       std::vector<AnyTensor>(static_cast<std::size_t>(exchange.members.count())));
}

// The communicator whose reduce-scatter has the additions of all_reduce for a leaf; null: none. In
// ring order, the place of an element in the whole matters, and slices have other places.
Communicator* native_communicator(const PartsReduction& reduction, std::size_t leaf) {
  const AnyTensor& like = *reduction.inputs.front()[leaf].tensor;
  Communicator* const found = reduction.exchange.core.reductions().native_communicator(
      like.dtype(), reduction.exchange.present, reduction.exchange.on_devices);
  const bool is_ring = found != nullptr && found->order() == ReductionOrder::kRing;
  const bool lies_together = extents_product(like.shape(), 0, reduction.cuts[leaf].axis) <= 1;
  return is_ring && !lies_together ? nullptr : found;
}

void reduce_natively(const PartsReduction& reduction, std::size_t leaf, Communicator& communicator,
                     const Participants& own, std::vector<AnyTensor>& parts) {
  const Exchange& exchange = reduction.exchange;
  const AxisCuts& cuts = reduction.cuts[leaf];
  const Shape& shape = reduction.inputs.front()[leaf].tensor->shape();
  std::vector<std::size_t> counts;
  for (int position = 0; position < exchange.members.count(); ++position) {
    counts.push_back(part_of_shape(shape, cuts, position).count());
  }
  std::vector<AnyTensor> slices;
  std::vector<std::size_t> positions;
  for (int i = 0; i < own.count(); ++i) {
    positions.push_back(static_cast<std::size_t>(exchange.members.position_of(own.id(i))));
    const AnyTensor whole = reduction.inputs[positions.back()][leaf].tensor->copy_to(
        exchange.core.placement(own.id(i)));
    slices.push_back(split(whole, cuts.axis, cuts.begins, exchange.site));
  }
  std::vector<AnyTensor> reduced =
      StrategyReductions::reduce_scatter(communicator, op_of(reduction), slices, counts);
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    parts[positions[i]] =
        reduced[i].reshaped(part_shape(shape, cuts, static_cast<int>(positions[i])), exchange.site);
  }
}

// The reduction of a part of the tensors of all positions, on the device of the part's replica.
AnyTensor reduce_part(const PartsReduction& reduction, std::span<const CutTensor> tensors,
                      int position) {
  const Exchange& exchange = reduction.exchange;
  const std::size_t leaf = tensors.front().leaf;
  const Placement place = exchange.core.placement(exchange.members.id(position));
  const PartOfShape own =
      part_of_shape(tensors.front().whole.shape(), tensors.front().cuts, position);
  std::vector<AnyTensor> here;
  for (const CutTensor& tensor : tensors) {
    here.push_back(tensor.part(position, exchange.site).copy_to(place));
  }
  AnyTensor result = AnyTensor::allocate(here.front().dtype(), here.front().shape(), place);
  const ReductionOrder order = order_of(reduction, leaf);
  for (const Piece& piece : pieces_of(own, order, here.size())) {
    Kernel kernel;
    kernel.kind = KernelKind::kReduceReplicas;
    kernel.parameters.reduce = op_of(reduction);
    kernel.parameters.order = order_in_piece(order);
    const auto view_in_piece = [&](const AnyTensor& tensor) {
      return part_of(tensor.view(), piece.begin, piece.end - piece.begin);
    };
    for (std::size_t step = 0; step < here.size(); ++step) {
      kernel.inputs.push_back(view_in_piece(here[input_at(piece, step, here.size())]));
    }
    kernel.outputs = {view_in_piece(result)};
    launch_in_order(device_of(place).compute_stream(), std::move(kernel));
  }
  return result;
}

void require_sums_fit(const PartsReduction& reduction, LeafPlaces place) {
  const auto found = find_sum_overflow(op_of(reduction), reduction.inputs);
  if (!found) return;
  const Exchange& exchange = reduction.exchange;
  std::vector<ReplicaReport> replicas;
  for (int i = 0; i < exchange.members.count(); ++i) {
    replicas.push_back({exchange.members.id(i), exchange.site, ""});
  }
  throw_sum_overflow(*found, place(found->leaf), std::move(replicas), exchange.site);
}

}  // namespace

void require_reduction(const PartsReduction& reduction, LeafPlaces place) {
  const std::vector<LeafRef>& leaves = reduction.inputs.front();
  StrategyCore& core = reduction.exchange.core;
  const CallSite site = reduction.exchange.site;
  require_operator(op_of(reduction), site);  // Also where no leaf asks.
  try {
    for (const LeafRef& leaf : leaves) require_reducible(op_of(reduction), leaf, site);
  } catch (const Error&) {
    std::rethrow_exception(
        at_refused_leaf(std::current_exception(), op_of(reduction), leaves, place));
  }
  if (core.reports_overflow()) [[unlikely]] {
    require_sums_fit(reduction, place);
  }
  core.reductions().count(leaves, reduction.inputs.size());
}

void reduce_part(const PartsReduction& reduction, std::size_t leaf, int part, void* out) {
  const std::vector<std::vector<LeafRef>>& inputs = reduction.inputs;
  const LeafRef& like = inputs.front()[leaf];
  const Shape shape{static_cast<std::int64_t>(like.count)};
  const PartOfShape own = part_of_shape(shape, reduction.cuts[leaf], part);
  const ReductionOrder order = order_of(reduction, leaf);
  const auto from = [&](void* data, std::size_t element) {
    return static_cast<std::byte*>(data) + element * size_of(like.dtype);
  };
  for (const Piece& piece : pieces_of(own, order, inputs.size())) {
    const std::size_t count = piece.end - piece.begin;
    const auto begin = static_cast<std::size_t>(own.begin) + piece.begin;
    KernelCall call;
    call.kind = KernelKind::kReduceReplicas;
    call.parameters.reduce = op_of(reduction);
    call.parameters.order = order_in_piece(order);
    for (std::size_t step = 0; step < inputs.size(); ++step) {
      void* const data = inputs[input_at(piece, step, inputs.size())][leaf].data;
      call.inputs.push_back({from(data, begin), count, like.dtype});
    }
    call.outputs = {{from(out, piece.begin), count, like.dtype}};
    reduce_on_host(call);
  }
}

PartsOfLeaves reduced_parts(const PartsReduction& reduction, const Participants& own) {
  const SiteScope scope(reduction.exchange.site);
  const std::vector<LeafRef>& leaves = reduction.inputs.front();
  PartsOfLeaves parts = no_parts(reduction.exchange, leaves.size());
  std::vector<CutTensor> cut;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (leaves[leaf].tensor == nullptr) continue;
    if (Communicator* const native = native_communicator(reduction, leaf)) {
      reduce_natively(reduction, leaf, *native, own, parts[leaf]);
      continue;
    }
    for (std::size_t i = 0; i < reduction.inputs.size(); ++i) {
      const int from = reduction.exchange.members.id(static_cast<int>(i));
      cut.push_back({*reduction.inputs[i][leaf].tensor, from, reduction.cuts[leaf], leaf});
    }
  }
  bring_parts(reduction.exchange, cut);
  for (std::span<const CutTensor> rest = cut; !rest.empty();) {
    const auto tensors = rest.first(reduction.inputs.size());
    rest = rest.subspan(tensors.size());
    for (int i = 0; i < own.count(); ++i) {
      const int position = reduction.exchange.members.position_of(own.id(i));
      parts[tensors[0].leaf][static_cast<std::size_t>(position)] =
          reduce_part(reduction, tensors, position);
    }
  }
  return parts;
}

PartsOfLeaves scattered_parts(const Exchange& exchange, int root,
                              const std::vector<LeafRef>& leaves, const std::vector<AxisCuts>& cuts,
                              const Participants& own) {
  const SiteScope scope(exchange.site);
  PartsOfLeaves parts = no_parts(exchange, leaves.size());
  std::vector<CutTensor> cut;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (leaves[leaf].tensor != nullptr)
      cut.push_back({*leaves[leaf].tensor, root, cuts[leaf], leaf});
  }
  bring_parts(exchange, cut);
  for (const CutTensor& tensor : cut) {
    for (int i = 0; i < own.count(); ++i) {
      const int position = exchange.members.position_of(own.id(i));
      const AnyTensor slice = tensor.part(position, exchange.site);
      AnyTensor& part = parts[tensor.leaf][static_cast<std::size_t>(position)];
      part = slice.copy_to(exchange.core.placement(own.id(i)));
      // A view would keep the whole in memory.
      if (part.view().buffer == tensor.whole.view().buffer) part = own_copy(part);
    }
  }
  return parts;
}

}  // namespace belfry::detail
