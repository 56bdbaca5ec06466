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

void HybridClique::do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  const WideParts wide(parts);
  NcclClique::require_addable(wide.dtype());  // Before the groups overwrite anything.
  std::vector<BufferView> sums;               // The leaders' outputs serve as their groups' sums.
  sums.reserve(groups_.size());
  for (const Group& group : groups_) sums.push_back(part_of(wide.parts(), group.ranks[0]).output);
  sum_groups(wide.parts(), sums);
  among_leaders_->all_reduce(ReduceOp::kSum, leaders(parts, sums));
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const int leading = groups_[i].ranks[0];
    if (op == ReduceOp::kMean) divisors_[i].divide(sums[i], *part_of(parts, leading).stream);
    wide.round(leading);
    spread(groups_[i], parts);
  }
}

void HybridClique::do_broadcast(int root, std::span<const CollectivePart> parts) {
  const std::size_t source = group_of(root);
  const CollectivePart& sender = part_of(parts, root);
  std::vector<BufferView> outputs;
  outputs.reserve(groups_.size());
  // Outputs may be in use on their members' streams, and leaders write to their own alone.
  for (const Group& group : groups_) outputs.push_back(part_of(parts, group.ranks[0]).output);
  Parts leading = leaders(parts, outputs);
  leading[source].input = sender.input;
  sender.stream->record(handover_);
  leading[source].stream->wait(handover_);
  among_leaders_->broadcast(static_cast<int>(source), leading);
  for (const Group& group : groups_) spread(group, parts);
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

// Reduces each group into its view of `sums`, on its leader's stream.
void HybridClique::sum_groups(std::span<const CollectivePart> parts,
                              std::span<const BufferView> sums) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Parts local;
    for (const int rank : groups_[i].ranks) local.push_back(part_of(parts, rank));
    local[0].output = sums[i];
    groups_[i].clique->sum_to_first(local);
  }
}

HybridClique::Parts HybridClique::leaders(std::span<const CollectivePart> parts,
                                          std::span<const BufferView> views) const {
  Parts leading;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    leading.push_back({views[i], views[i], part_of(parts, groups_[i].ranks[0]).stream});
  }
  return leading;
}

// Copies the leader's output to the other members of its group.
void HybridClique::spread(const Group& group, std::span<const CollectivePart> parts) {
  Parts local;
  for (const int rank : group.ranks) local.push_back(part_of(parts, rank));
  local[0].input = local[0].output;
  group.clique->broadcast(0, local);
}

}  // namespace belfry::cuda
