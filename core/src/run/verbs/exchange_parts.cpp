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
#include "kernels/reduce_call.h"
#include "run/verbs/sum_overflow.h"

#include <algorithm>
#include <exception>
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

AnyTensor part_on(const AnyTensor& whole, const AxisCuts& cuts, int part, Placement place,
                  CallSite site) {
  const std::int64_t* const begin = &cuts.begins[static_cast<std::size_t>(part)];
  const AnyTensor slice = launch_slice(whole, cuts.axis, begin[0], begin[1], site);
  if (slice.placement() != place) return slice.copy_to(place, site);
  // A view would keep the whole in memory.
  const SiteScope scope(site);
  return slice.view().buffer == whole.view().buffer ? own_copy(slice) : slice;
}

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

AnyTensor reduce_part(const PartsReduction& reduction, std::size_t leaf, int part,
                      Placement place) {
  const SiteScope scope(reduction.exchange.site);
  const std::vector<std::vector<LeafRef>>& inputs = reduction.inputs;
  const AxisCuts& cuts = reduction.cuts[leaf];
  const Shape& shape = inputs.front()[leaf].tensor->shape();
  const PartOfShape own = part_of_shape(shape, cuts, part);
  std::vector<AnyTensor> here;
  for (const std::vector<LeafRef>& leaves : inputs) {
    const AnyTensor slice =
        launch_slice(*leaves[leaf].tensor, cuts.axis, own.begin, own.end, reduction.exchange.site);
    here.push_back(slice.copy_to(place));
  }
  AnyTensor result = AnyTensor::allocate(here.front().dtype(), here.front().shape(), place);
  const ReductionOrder order = order_of(reduction, leaf);
  for (const Piece& piece : pieces_of(own, order, inputs.size())) {
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

}  // namespace belfry::detail
