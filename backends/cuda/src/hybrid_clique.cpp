// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "hybrid_clique.h"

#include "belfry/backend/device.h"
#include "belfry/backend/kernel.h"
#include "nccl_op.h"
#include "wide_parts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace belfry::cuda {
namespace {

const CollectivePart& part_of(std::span<const CollectivePart> parts, int member) {
  return parts[static_cast<std::size_t>(member)];
}

BufferView room_like(const BufferView& view, belfry::Stream& stream, DType dtype) {
  return view_of(stream.device().allocate(view.count * size_of(dtype), stream), dtype);
}

BufferView rounded_to(DType dtype, const BufferView& view, belfry::Stream& stream) {
  Kernel kernel;
  kernel.kind = KernelKind::kCast;
  kernel.inputs = {view};
  kernel.outputs = {room_like(view, stream, dtype)};
  BufferView rounded = kernel.outputs.front();
  stream.launch(std::move(kernel));
  return rounded;
}

}  // namespace

HybridClique::HybridClique(const std::shared_ptr<SharedState>& shared, std::vector<Device*> devices)
    : Clique(shared, std::move(devices)), handover_(shared) {
  const std::vector<Device*> leading = make_groups(shared);
  for (int rank = 0; rank < size(); ++rank) {
    leader_of_.push_back(static_cast<int>(group_of(rank)));
  }
  among_leaders_ = std::make_unique<NcclClique>(shared, leading);
}

HybridClique::HybridClique(const std::shared_ptr<SharedState>& shared, std::vector<Device*> devices,
                           Span span)
    : Clique(shared, std::move(devices), span.ranks),
      leader_of_(std::move(span.leader_of)),
      handover_(shared) {
  const std::vector<Device*> leading = make_groups(shared);
  among_leaders_ = std::make_unique<NcclClique>(shared, leading, span.leaders, span.warm_up);
}

// The leaders of the groups.
std::vector<Device*> HybridClique::make_groups(const std::shared_ptr<SharedState>& shared) {
  std::map<int, std::size_t> group_on;  // GPU to index in groups_, in the order of leaders
  for (int member = 0; member < members(); ++member) {
    const auto [place, fresh] = group_on.try_emplace(device(member).gpu(), groups_.size());
    if (fresh) groups_.emplace_back();
    groups_[place->second].members.push_back(member);
  }
  std::vector<Device*> leading;
  for (Group& group : groups_) {
    std::vector<Device*> devices;
    devices.reserve(group.members.size());
    for (const int member : group.members) devices.push_back(&device(member));
    leading.push_back(devices.front());
    divisors_.emplace_back(*devices.front(), size());
    group.clique = std::make_unique<LocalClique>(shared, std::move(devices));
  }
  return leading;
}

void HybridClique::check_health() {
  among_leaders_->check_health();
  Clique::check_health();
}

// The outputs of the leaders have the sums of their groups.
void HybridClique::do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  const WideParts wide(parts);
  NcclClique::require_addable(wide.dtype());  // Before the groups overwrite anything.
  const ReduceOp partial = belfry::detail::partial_op(op);
  for (const Group& group : groups_) {
    group.clique->reduce_to_first(partial, parts_of(group, wide.parts()));
  }
  Parts sums = leaders(wide.parts());
  for (CollectivePart& sum : sums) sum.input = sum.output;
  among_leaders_->reduce_for(partial, sums);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const auto leading = static_cast<std::size_t>(groups_[i].members[0]);
    for (std::size_t place = leading; place < parts.size();
         place += static_cast<std::size_t>(members())) {
      const CollectivePart& sum = wide.parts()[place];
      if (op == ReduceOp::kMean) divisors_[i].divide(sum.output, *sum.stream);
      wide.round(place);
    }
    groups_[i].clique->copy_from_first(parts_of(groups_[i], parts));
  }
}

void HybridClique::do_broadcast(int root, std::span<const CollectivePart> parts) {
  // Outputs may be in use on their members' streams, and leaders write to their own alone.
  Parts leading = leaders(parts);
  for (CollectivePart& leader : leading) leader.input = leader.output;
  const int member = root - first_rank();
  if (member >= 0 && member < members()) {
    const std::size_t source = group_of(member);
    const CollectivePart& sender = part_of(parts, member);
    leading[source].input = sender.input;
    sender.stream->record(handover_);
    leading[source].stream->wait(handover_);
  }
  among_leaders_->broadcast_for(leader_of_[static_cast<std::size_t>(root)], leading);
  for (const Group& group : groups_) group.clique->copy_from_first(parts_of(group, parts));
}

void HybridClique::do_all_gather(const Collective& collective) {
  for (int root = 0; root < size(); ++root) {
    Parts slices(collective.parts.begin(), collective.parts.end());
    for (CollectivePart& slice : slices) slice.output = collective.slice(slice.output, root);
    do_broadcast(root, slices);
  }
}

// A temporary of each leader has the reductions of the group, then slices of the whole reduction.
void HybridClique::do_reduce_scatter(const Collective& collective) {
  const DType dtype = collective.parts[0].input.dtype;
  if (breaks_rules_of(collective.op, dtype)) return reduce_received(collective);
  const ReduceOp partial = belfry::detail::partial_op(collective.op);
  const WideParts wide(collective);
  NcclClique::require_addable(wide.dtype());
  Parts sums(wide.parts().begin(), wide.parts().end());
  for (const Group& group : groups_) {
    CollectivePart& leading = sums[static_cast<std::size_t>(group.members[0])];
    leading.output =
        wide.dtype() == dtype ? room_like(leading.input, *leading.stream, dtype) : leading.input;
    group.clique->reduce_to_first(partial, parts_of(group, sums));
  }
  Parts leading = leaders(sums);
  for (CollectivePart& sum : leading) sum.input = sum.output;
  among_leaders_->reduce_slices_for(collective, leading, leader_of_);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const BufferView& sum = leading[i].output;
    BufferView rounded = sum;
    std::vector<Transfer> copies;
    for (const int member : groups_[i].members) {
      if (collective.op != ReduceOp::kMean) break;
      divisors_[i].divide(collective.slice(sum, first_rank() + member), *leading[i].stream);
    }
    if (wide.dtype() != dtype) rounded = rounded_to(dtype, sum, *leading[i].stream);
    int position = 0;
    for (const int member : groups_[i].members) {
      copies.push_back({0, position++, collective.slice(rounded, first_rank() + member),
                        part_of(collective.parts, member).output});
    }
    const Parts own = parts_of(groups_[i], collective.parts);
    groups_[i].clique->exchange_for(
        {.kind = CollectiveKind::kExchange, .parts = own, .transfers = copies});
  }
}

void HybridClique::do_exchange(const Collective& collective) {
  exchange_between_gpus(collective);
  for (const Group& group : groups_) exchange_on_gpu(group, collective);
}

bool HybridClique::crosses_gpus(const Transfer& one) const {
  return leader_of_[static_cast<std::size_t>(one.from)] !=
         leader_of_[static_cast<std::size_t>(one.to)];
}

// The calls of a leader are in the order of the ranks: the calls of two leaders fit together.
void HybridClique::exchange_between_gpus(const Collective& collective) {
  std::multimap<std::pair<int, int>, Transfer> by_ranks;
  for (const Transfer& one : collective.transfers) {
    if (crosses_gpus(one)) by_ranks.emplace(std::pair(one.from, one.to), one);
  }
  std::vector<Transfer> crossing;
  for (const auto& [ranks, one] : by_ranks) crossing.push_back(one);
  Collective between = collective;
  between.transfers = crossing;
  std::vector<Parts> members;  // Of each group: the leader, and members with a transfer.
  for (const Group& group : groups_) {
    Parts& own = members.emplace_back();
    for (const int member : group.members) {
      if (own.empty() || between.involves(member)) own.push_back(part_of(collective.parts, member));
    }
    group.clique->first_follows(own);
  }
  for (Transfer& one : crossing) {
    one.from = leader_of_[static_cast<std::size_t>(one.from)];
    one.to = leader_of_[static_cast<std::size_t>(one.to)];
  }
  const Parts leading = leaders(collective.parts);
  among_leaders_->exchange_for(
      {.kind = CollectiveKind::kExchange, .parts = leading, .transfers = crossing});
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].clique->first_precedes(members[i]);
}

void HybridClique::exchange_on_gpu(const Group& group, const Collective& collective) {
  const auto position = [&](int rank) {
    const auto place = std::ranges::find(group.members, rank - first_rank());
    return place == group.members.end() ? -1 : static_cast<int>(place - group.members.begin());
  };
  std::vector<Transfer> own;
  for (const Transfer& one : collective.transfers) {
    if (crosses_gpus(one) || position(one.from) < 0) continue;
    own.push_back({position(one.from), position(one.to), one.input, one.output});
  }
  const Parts parts = parts_of(group, collective.parts);
  group.clique->exchange_for({.kind = CollectiveKind::kExchange, .parts = parts, .transfers = own});
}

std::size_t HybridClique::group_of(int member) const {
  const auto holds = [member](const Group& group) {
    return std::ranges::find(group.members, member) != group.members.end();
  };
  return static_cast<std::size_t>(std::ranges::find_if(groups_, holds) - groups_.begin());
}

// For each tensor, the parts of the group.
HybridClique::Parts HybridClique::parts_of(const Group& group,
                                           std::span<const CollectivePart> parts) const {
  Parts own;
  own.reserve(tensors(parts) * group.members.size());
  for (std::size_t i = 0; i < tensors(parts); ++i) {
    for (const int member : group.members) own.push_back(part_of(tensor(parts, i), member));
  }
  return own;
}

// For each tensor, the parts of the leaders.
HybridClique::Parts HybridClique::leaders(std::span<const CollectivePart> parts) const {
  Parts leading;
  leading.reserve(tensors(parts) * groups_.size());
  for (std::size_t i = 0; i < tensors(parts); ++i) {
    for (const Group& group : groups_) {
      leading.push_back(part_of(tensor(parts, i), group.members[0]));
    }
  }
  return leading;
}

}  // namespace belfry::cuda
