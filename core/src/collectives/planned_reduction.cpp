// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/planned_reduction.h"

#include "backend/part_of.h"
#include "words/sum_type.h"

#include <algorithm>

// How it works. A member copies the terms of a sum from other members to memory of its own, and
// adds them with one kernel: partial sums, of 16-bit floats in float, or, if the terms are the
// inputs of all members, the whole reduction. A full sum that was partial before is divided and
// rounded by its member, and copied from there. Only events order the streams; the schedule says
// where they are needed.
namespace belfry::detail {
namespace {

void launch_cast(Stream& stream, const BufferView& to, const BufferView& from) {
  stream.launch({.kind = KernelKind::kCast, .outputs = {to}, .inputs = {from}});
}

}  // namespace

PlannedReduction::PlannedReduction(const TensorReduction& reduction, const PlanSchedule& schedule)
    : reduction_(reduction),
      schedule_(schedule),
      sum_type_(schedule.has_partial_sums() ? sum_type(input(0, 0).dtype) : input(0, 0).dtype) {
  for (std::size_t tensor = 0; tensor < reduction.tensors(); ++tensor) {
    begins_.push_back(schedule.plan().chunk_begins(input(tensor, 0).count));
    const std::vector<std::size_t>& begins = begins_.back();
    for (std::size_t c = 0; c + 1 < begins.size(); ++c) {
      longest_chunk_ = std::max(longest_chunk_, begins[c + 1] - begins[c]);
    }
  }
  for (std::size_t i = 0; i < reduction.members; ++i) members_.push_back(make_member(i));
}

void PlannedReduction::run() {
  for (std::size_t i = 0; i < members_.size(); ++i) begin(i);
  for (const PlanSchedule::Step& step : schedule_.sums()) {
    wait(step.waits);
    for (const PlanSchedule::Sum& sum : step.sums) add(sum);
  }
  for (const PlanSchedule::Finish& chunks : schedule_.finishes()) finish(chunks);
  for (const PlanSchedule::Step& step : schedule_.copies()) {
    wait(step.waits);
    for (const ReductionPlan::Copy& each : step.copies) copy(each);
  }
  wait(schedule_.last_waits());
}

PlannedReduction::Member PlannedReduction::make_member(std::size_t i) const {
  Member member;
  member.stream = reduction_.parts[i].stream;
  Device& device = member.stream->device();
  member.reached = device.create_event();
  for (std::size_t tensor = 0; tensor < reduction_.tensors(); ++tensor) {
    const CollectivePart& part = reduction_.tensor(tensor)[i];
    Share share{part.input, part.output, part.output};
    if (is_widened()) {
      const std::size_t bytes = part.input.count * size_of(sum_type_);
      share.own = share.sums = view_of(device.allocate(bytes, *member.stream), sum_type_);
    }
    member.shares.push_back(std::move(share));
  }
  // An upper bound: every chunk has at most the elements of the longest.
  const auto chunks = static_cast<std::size_t>(schedule_.most_chunks_received(static_cast<int>(i)));
  if (const std::size_t elements = chunks * longest_chunk_; elements != 0) {
    member.arrivals = device.allocate(elements * size_of(sum_type_), *member.stream);
  }
  if (reduction_.op == ReduceOp::kMean && schedule_.has_partial_sums()) {
    member.divisor = view_of(device.allocate(size_of(sum_type_), *member.stream), sum_type_);
  }
  return member;
}

BufferView PlannedReduction::cut(const BufferView& view, std::size_t tensor,
                                 const ChunkRange& chunks) const {
  const std::vector<std::size_t>& begins = begins_[tensor];
  const std::size_t begin = begins[static_cast<std::size_t>(chunks.first)];
  const std::size_t end = begins[static_cast<std::size_t>(chunks.first + chunks.count)];
  return part_of(view, begin, end - begin);
}

// Widens terms, and writes the divisor. A member alone has its result at once.
void PlannedReduction::begin(std::size_t i) {
  Member& member = members_[i];
  if (member.divisor.buffer != nullptr) {
    Kernel fill{.kind = KernelKind::kFill, .outputs = {member.divisor}, .inputs = {}};
    fill.parameters.scalar = static_cast<double>(members_.size());
    member.stream->launch(std::move(fill));
  }
  for (std::size_t tensor = 0; tensor < member.shares.size(); ++tensor) {
    const Share& share = member.shares[tensor];
    const BufferView& terms = input(tensor, static_cast<int>(i));
    if (is_widened()) launch_cast(*member.stream, share.own, terms);
    if (members_.size() > 1 || terms.count == 0) continue;
    Kernel alone{.kind = KernelKind::kReduceReplicas, .outputs = {share.output}, .inputs = {terms}};
    alone.parameters.reduce = reduction_.op;
    member.stream->launch(std::move(alone));
  }
}

void PlannedReduction::wait(const std::vector<std::pair<int, int>>& waits) {
  std::vector<bool> is_awaited(members_.size(), false);
  for (const auto& [member, other] : waits) is_awaited[static_cast<std::size_t>(other)] = true;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (is_awaited[i]) members_[i].stream->record(*members_[i].reached);
  }
  for (const auto& [member, other] : waits) {
    this->member(member).stream->wait(*this->member(other).reached);
  }
}

void PlannedReduction::add(const PlanSchedule::Sum& sum) {
  for (std::size_t tensor = 0; tensor < reduction_.tensors(); ++tensor) {
    if (cut(input(tensor, 0), tensor, sum.chunks).count != 0) add(sum, tensor);
  }
}

void PlannedReduction::add(const PlanSchedule::Sum& sum, std::size_t tensor) {
  Member& adder = member(sum.member);
  const Share& share = adder.shares[tensor];
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = sum.is_complete ? reduction_.op : partial_op(reduction_.op);
  std::size_t arrived = 0;
  for (const PlanSchedule::Term& term : sum.terms) {
    BufferView view = term_of(sum, term, tensor);
    if (term.member != sum.member) {
      const BufferView local{adder.arrivals, arrived, view.count, view.dtype};
      arrived += view.bytes();
      adder.stream->copy(local, view);
      view = local;
    }
    kernel.inputs.push_back(std::move(view));
  }
  kernel.outputs = {cut(sum.is_complete ? share.output : share.sums, tensor, sum.chunks)};
  adder.stream->launch(std::move(kernel));
}

BufferView PlannedReduction::term_of(const PlanSchedule::Sum& sum, const PlanSchedule::Term& term,
                                     std::size_t tensor) {
  const Share& share = member(term.member).shares[tensor];
  if (term.place == PlanSchedule::Place::kSum) return cut(share.sums, tensor, sum.chunks);
  return cut(sum.is_complete ? input(tensor, term.member) : share.own, tensor, sum.chunks);
}

// Divides and rounds full sums.
void PlannedReduction::finish(const PlanSchedule::Finish& finish) {
  const Member& holder = member(finish.member);
  for (std::size_t tensor = 0; tensor < holder.shares.size(); ++tensor) {
    const BufferView sum = cut(holder.shares[tensor].sums, tensor, finish.chunks);
    if (sum.count == 0) continue;
    if (reduction_.op == ReduceOp::kMean) {
      Kernel divide{.kind = KernelKind::kBinary, .outputs = {sum}, .inputs = {sum, holder.divisor}};
      divide.parameters.binary = BinaryOp::kDivide;
      divide.parameters.broadcast = Broadcast::kScalar;
      holder.stream->launch(std::move(divide));
    }
    if (is_widened()) {
      launch_cast(*holder.stream, cut(holder.shares[tensor].output, tensor, finish.chunks), sum);
    }
  }
}

void PlannedReduction::copy(const ReductionPlan::Copy& copy) {
  for (std::size_t tensor = 0; tensor < reduction_.tensors(); ++tensor) {
    const BufferView to = cut(member(copy.to).shares[tensor].output, tensor, copy.chunks);
    if (to.count == 0) continue;
    member(copy.to).stream->copy(to,
                                 cut(member(copy.from).shares[tensor].output, tensor, copy.chunks));
  }
}

}  // namespace belfry::detail
