// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_device_ops.h"
#include "belfry/dtype.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

// How it works, for N members. Each tensor is cut into N chunks, and chunk c belongs to member c at
// the start. In each of N - 1 steps every member copies a chunk of partial sums from its left
// neighbour and adds its own chunk, so that the sum of chunk c starts at member c and goes round in
// ascending order. Member m then has the sum of chunk m + 1. In N - 1 more steps every member
// copies a finished chunk from its left neighbour.
//
// Before each step a member waits for the earlier steps of its left neighbour. A chunk
// is overwritten by a copy only after the right neighbour has read the chunk: the sum that the copy
// brings was made from the read. After the last step a member waits for its right neighbour, which
// reads the member's output until then.
namespace belfry {
namespace {

bool is_rounded_once(DType dtype) { return is_floating(dtype) && size_of(dtype) == 2; }

// A tensor of one member.
struct Share {
  BufferView own;     // The terms.
  BufferView sums;    // The partial sums; may be the view of the terms.
  BufferView output;  // The result; the view of the sums unless sums are wider.
};

// A member, and its share of each tensor.
struct Member {
  Stream* stream = nullptr;
  std::unique_ptr<Event> reached;
  BufferPtr arrivals;  // The chunk that was copied from the left, until it is added.
  BufferView divisor;  // The number of members, if the reduction divides.
  std::vector<Share> shares;
};

void launch_cast(Stream& stream, const BufferView& to, const BufferView& from) {
  stream.launch({.kind = KernelKind::kCast, .outputs = {to}, .inputs = {from}});
}

class Ring {
 public:
  /// Allocates all memory: after a failure nothing is enqueued.
  explicit Ring(const TensorReduction& reduction) : reduction_(reduction) {
    for (std::size_t i = 0; i < reduction.members; ++i) members_.push_back(make_member(i));
  }

  void run() {
    for (Member& member : members_) begin(member);
    for (std::size_t step = 0; step < last_step(); ++step) {
      wait_for_left_neighbours();
      for (std::size_t i = 0; i < members_.size(); ++i) add_from_left(i, step);
    }
    for (std::size_t i = 0; i < members_.size(); ++i) finish(i);
    for (std::size_t step = 0; step < last_step(); ++step) {
      wait_for_left_neighbours();
      for (std::size_t i = 0; i < members_.size(); ++i) copy_from_left(i, step);
    }
    if (members_.size() > 1) wait_for_right_neighbours();
  }

 private:
  std::size_t last_step() const { return members_.size() - 1; }
  std::size_t left_of(std::size_t i) const { return (i + members_.size() - 1) % members_.size(); }
  std::size_t right_of(std::size_t i) const { return (i + 1) % members_.size(); }
  // The place that is `steps` places to the left of place i; `steps` is below N.
  std::size_t steps_left_of(std::size_t i, std::size_t steps) const {
    return (i + members_.size() - steps) % members_.size();
  }

  // Chunk c of a view: n elements are cut into N chunks of n / N, rounded up.
  BufferView chunk(BufferView view, std::size_t c) const {
    const std::size_t length = (view.count + members_.size() - 1) / members_.size();
    const std::size_t begin = std::min(c * length, view.count);
    view.offset += begin * size_of(view.dtype);
    view.count = std::min(length, view.count - begin);
    return view;
  }

  Member make_member(std::size_t i) const;
  void begin(Member& member);
  void add_from_left(std::size_t i, std::size_t step);
  void finish(std::size_t i);
  void copy_from_left(std::size_t i, std::size_t step);
  void add(Stream& stream, std::vector<BufferView> terms, BufferView sum) const;
  void wait_for_left_neighbours() { wait_for_neighbours(left_of(0)); }
  void wait_for_right_neighbours() { wait_for_neighbours(right_of(0)); }
  void wait_for_neighbours(std::size_t distance);

  const TensorReduction& reduction_;
  std::vector<Member> members_;
};

Member Ring::make_member(std::size_t i) const {
  const DType dtype = reduction_.parts.front().input.dtype;
  const DType wide = is_rounded_once(dtype) ? DType::kFloat32 : dtype;
  Member member;
  member.stream = reduction_.parts[i].stream;
  Device& device = member.stream->device();
  member.reached = device.create_event();
  std::size_t longest = 0;
  for (std::size_t tensor = 0; tensor < reduction_.tensors(); ++tensor) {
    const CollectivePart& part = reduction_.tensor(tensor)[i];
    Share share{part.input, part.output, part.output};
    if (wide != dtype) {
      const std::size_t bytes = part.input.count * size_of(wide);
      share.own = share.sums = view_of(device.allocate(bytes, *member.stream), wide);
    }
    longest = std::max(longest, part.input.count);
    member.shares.push_back(std::move(share));
  }
  const std::size_t chunk = (longest + reduction_.members - 1) / reduction_.members;
  member.arrivals = device.allocate(chunk * size_of(wide), *member.stream);
  if (reduction_.op == ReduceOp::kMean) {
    member.divisor = view_of(device.allocate(size_of(wide), *member.stream), wide);
  }
  return member;
}

// Widens terms, writes the divisor; the sum of a member alone is its term.
void Ring::begin(Member& member) {
  if (member.divisor.buffer != nullptr) {
    Kernel fill{.kind = KernelKind::kFill, .outputs = {member.divisor}, .inputs = {}};
    fill.parameters.scalar = static_cast<double>(members_.size());
    member.stream->launch(std::move(fill));
  }
  const auto place = static_cast<std::size_t>(&member - members_.data());
  for (std::size_t tensor = 0; tensor < member.shares.size(); ++tensor) {
    const Share& share = member.shares[tensor];
    const BufferView& input = reduction_.tensor(tensor)[place].input;
    if (share.own.dtype != input.dtype) launch_cast(*member.stream, share.own, input);
    if (members_.size() == 1) add(*member.stream, {share.own}, share.sums);
  }
}

void Ring::add_from_left(std::size_t i, std::size_t step) {
  const std::size_t c = steps_left_of(left_of(i), step);
  const Member& member = members_[i];
  const Member& left = members_[left_of(i)];
  for (std::size_t tensor = 0; tensor < member.shares.size(); ++tensor) {
    const Share& share = member.shares[tensor];
    const Share& given = left.shares[tensor];
    const BufferView partial = chunk(step == 0 ? given.own : given.sums, c);
    if (partial.count == 0) continue;
    const BufferView arrived{member.arrivals, 0, partial.count, partial.dtype};
    member.stream->copy(arrived, partial);
    add(*member.stream, {arrived, chunk(share.own, c)}, chunk(share.sums, c));
  }
}

// Divides and rounds the chunk whose sum ends at member i.
void Ring::finish(std::size_t i) {
  const Member& member = members_[i];
  const std::size_t c = right_of(i);
  for (const Share& share : member.shares) {
    const BufferView sum = chunk(share.sums, c);
    if (sum.count == 0) continue;
    if (reduction_.op == ReduceOp::kMean) {
      Kernel divide{.kind = KernelKind::kBinary, .outputs = {sum}, .inputs = {sum, member.divisor}};
      divide.parameters.binary = BinaryOp::kDivide;
      divide.parameters.broadcast = Broadcast::kScalar;
      member.stream->launch(std::move(divide));
    }
    const BufferView output = chunk(share.output, c);
    if (output.dtype != sum.dtype) launch_cast(*member.stream, output, sum);
  }
}

void Ring::copy_from_left(std::size_t i, std::size_t step) {
  const std::size_t c = steps_left_of(i, step);
  const Member& left = members_[left_of(i)];
  for (std::size_t tensor = 0; tensor < left.shares.size(); ++tensor) {
    const BufferView to = chunk(members_[i].shares[tensor].output, c);
    if (to.count == 0) continue;
    members_[i].stream->copy(to, chunk(left.shares[tensor].output, c));
  }
}

void Ring::add(Stream& stream, std::vector<BufferView> terms, BufferView sum) const {
  stream.launch({.kind = KernelKind::kReduceReplicas,
                 .outputs = {std::move(sum)},
                 .inputs = std::move(terms)});
}

// Every member waits for the work so far of the member that is `distance` places to the right.
void Ring::wait_for_neighbours(std::size_t distance) {
  for (const Member& member : members_) member.stream->record(*member.reached);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].stream->wait(*members_[(i + distance) % members_.size()].reached);
  }
}

}  // namespace

void RingAllReduce::all_reduce(const TensorReduction& reduction) { Ring(reduction).run(); }

}  // namespace belfry
