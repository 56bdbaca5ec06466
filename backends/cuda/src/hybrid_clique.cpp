// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "hybrid_clique.h"

#include "wide_parts.h"

#include <algorithm>
#include <map>

namespace belfry::cuda {
namespace {

const CollectivePart& part_of(std::span<const CollectivePart> parts, int rank) {
  return parts[static_cast<std::size_t>(rank)];
}

}  // namespace

HybridClique::HybridClique(const std::shared_ptr<SharedState>& shared, std::vector<Device*> devices)
    : Clique(shared, std::move(devices)), handover_(shared) {
  std::map<int, std::size_t> group_on;  // GPU to index in groups_, in the order of leaders
  for (int rank = 0; rank < size(); ++rank) {
    const auto [place, fresh] = group_on.try_emplace(device(rank).gpu(), groups_.size());
    if (fresh) groups_.emplace_back();
    groups_[place->second].ranks.push_back(rank);
  }
  std::vector<Device*> leading;
  for (Group& group : groups_) {
    std::vector<Device*> members;
    members.reserve(group.ranks.size());
    for (const int rank : group.ranks) members.push_back(&device(rank));
    leading.push_back(members.front());
    divisors_.emplace_back(*members.front(), size());
    group.clique = std::make_unique<LocalClique>(shared, std::move(members));
  }
  among_leaders_ = std::make_unique<NcclClique>(shared, leading);
}

void HybridClique::check_health() {
  among_leaders_->check_health();
  Clique::check_health();
}

// The outputs of the leaders have the sums of their groups.
void HybridClique::do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  const WideParts wide(parts);
  NcclClique::require_addable(wide.dtype());  // Before the groups overwrite anything.
  for (const Group& group : groups_) group.clique->sum_to_first(members(group, wide.parts()));
  Parts sums = leaders(wide.parts());
  for (CollectivePart& sum : sums) sum.input = sum.output;
  among_leaders_->all_reduce(ReduceOp::kSum, sums);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const auto leading = static_cast<std::size_t>(groups_[i].ranks[0]);
    for (std::size_t place = leading; place < parts.size();
         place += static_cast<std::size_t>(size())) {
      const CollectivePart& sum = wide.parts()[place];
      if (op == ReduceOp::kMean) divisors_[i].divide(sum.output, *sum.stream);
      wide.round(place);
    }
    groups_[i].clique->copy_from_first(members(groups_[i], parts));
  }
}

void HybridClique::do_broadcast(int root, std::span<const CollectivePart> parts) {
  const std::size_t source = group_of(root);
  const CollectivePart& sender = part_of(parts, root);
  // Outputs may be in use on their members' streams, and leaders write to their own alone.
  Parts leading = leaders(parts);
  for (CollectivePart& leader : leading) leader.input = leader.output;
  leading[source].input = sender.input;
  sender.stream->record(handover_);
  leading[source].stream->wait(handover_);
  among_leaders_->broadcast(static_cast<int>(source), leading);
  for (const Group& group : groups_) group.clique->copy_from_first(members(group, parts));
}

void HybridClique::do_all_gather(std::span<const CollectivePart> parts) {
  for (int root = 0; root < size(); ++root) {
    const BufferView& input = part_of(parts, root).input;
    Parts slices(parts.begin(), parts.end());
    for (CollectivePart& slice : slices) {
      slice.output.offset += static_cast<std::size_t>(root) * input.bytes();
      slice.output.count = input.count;
    }
    do_broadcast(root, slices);
  }
}

std::size_t HybridClique::group_of(int rank) const {
  const auto holds = [rank](const Group& group) {
    return std::ranges::find(group.ranks, rank) != group.ranks.end();
  };
  return static_cast<std::size_t>(std::ranges::find_if(groups_, holds) - groups_.begin());
}

// For each tensor, the parts of the group.
HybridClique::Parts HybridClique::members(const Group& group,
                                          std::span<const CollectivePart> parts) const {
  Parts own;
  own.reserve(tensors(parts) * group.ranks.size());
  for (std::size_t i = 0; i < tensors(parts); ++i) {
    for (const int rank : group.ranks) own.push_back(part_of(tensor(parts, i), rank));
  }
  return own;
}

// For each tensor, the parts of the leaders.
HybridClique::Parts HybridClique::leaders(std::span<const CollectivePart> parts) const {
  Parts leading;
  leading.reserve(tensors(parts) * groups_.size());
  for (std::size_t i = 0; i < tensors(parts); ++i) {
    for (const Group& group : groups_) {
      leading.push_back(part_of(tensor(parts, i), group.ranks[0]));
    }
  }
  return leading;
}

}  // namespace belfry::cuda
