// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/packed_all_reduce.h"

#include "backend/part_of.h"
#include "belfry/error.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace belfry {
namespace {

bool is_same_for_all_elements(ReductionOrder order) {
  return order == ReductionOrder::kReplicaOrder || order == ReductionOrder::kTree;
}

PackItem item_of(const CollectivePart& part) { return {part.input.count, part.input.dtype}; }

// The tensors of the first member, which are those of every member: a plan for other tensors would
// copy beyond their ends.
std::vector<PackItem> items_of(const TensorReduction& reduction, CallSite site) {
  std::vector<PackItem> items;
  items.reserve(reduction.tensors());
  for (std::size_t tensor = 0; tensor < reduction.tensors(); ++tensor) {
    const auto parts = reduction.tensor(tensor);
    items.push_back(item_of(parts.front()));
    for (std::size_t member = 1; member < parts.size(); ++member) {
      const PackItem own = item_of(parts[member]);
      if (own == items.back()) continue;
      throw StructureMismatchError(
          ErrorCode::kStructure,
          fmt::format("tensor {} has {} elements of {} on member 0, and {} of {} on member {}",
                      tensor, items.back().elements, to_string(items.back().dtype), own.elements,
                      to_string(own.dtype), member),
          "reduce tensors of equal lengths and types", site);
    }
  }
  return items;
}

// A part of a member for each pack. Allocates all memory before anything is enqueued.
std::vector<CollectivePart> parts_of(const PackPlan& plan, const TensorReduction& reduction) {
  std::vector<CollectivePart> parts;
  parts.reserve(plan.packs.size() * reduction.members);
  for (const PackedTensor& pack : plan.packs) {
    const PackSlice& first = pack.slices.front();
    for (const CollectivePart& part : reduction.tensor(first.item)) {
      if (pack.slices.size() == 1) {
        parts.push_back({part_of(part.input, first.begin, first.elements),
                         part_of(part.output, first.begin, first.elements), part.stream});
        continue;
      }
      const BufferPtr memory = part.stream->device().allocate(pack.bytes(), *part.stream);
      const BufferView view = view_of(memory, pack.dtype);
      parts.push_back({view, view, part.stream});
    }
  }
  return parts;
}

// Calls `copy(part of the tensor, its slice, part of the pack)` for each slice that is copied.
template <class Copy>
void for_each_copy(const PackPlan& plan, const TensorReduction& reduction,
                   std::span<const CollectivePart> packed, Copy&& copy) {
  for (std::size_t p = 0; p < plan.packs.size(); ++p) {
    const PackedTensor& pack = plan.packs[p];
    if (pack.slices.size() == 1) continue;
    for (const PackSlice& slice : pack.slices) {
      for (std::size_t member = 0; member < reduction.members; ++member) {
        copy(reduction.tensor(slice.item)[member], slice, packed[p * reduction.members + member]);
      }
    }
  }
}

}  // namespace

PackedAllReduce::PackedAllReduce(std::shared_ptr<CrossDeviceOps> inner, PackOptions options,
                                 CallSite site)
    : inner_(std::move(inner)), options_(std::move(options)), site_(site) {
  if (inner_ == nullptr) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "packs have no algorithm",
                               "name the algorithm that reduces the packs", site);
  }
  pack_small_items({}, options_.bytes_per_tensor, options_.bytes_per_pack, site);  // Checks both.
  name_ = "packed " + std::string(inner_->name());
}

ReductionOrder PackedAllReduce::order(ReplicaDevices& devices) const {
  const ReductionOrder inner = inner_->order(devices);
  return is_same_for_all_elements(inner) ? inner : ReductionOrder::kUnspecified;
}

bool PackedAllReduce::can_add_in(ReductionOrder order, ReplicaDevices& devices) const {
  if (order == this->order(devices)) return true;
  return order != ReductionOrder::kRing && inner_->can_add_in(order, devices);
}

std::optional<ReductionPlan> PackedAllReduce::plan(int members) const {
  std::optional<ReductionPlan> inner = inner_->plan(members);
  if (inner && inner->chunks != 1) inner.reset();
  return inner;
}

PackPlan PackedAllReduce::plan_of(const TensorReduction& reduction) const {
  const std::vector<PackItem> items = items_of(reduction, site_);
  if (!options_.packer) {
    return pack_small_items(items, options_.bytes_per_tensor, options_.bytes_per_pack, site_);
  }
  PackPlan plan = options_.packer(items);
  if (plan.items != items) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a plan of packs is for other items",
                               "plan for the items that the packer receives", site_);
  }
  validate(plan, site_);
  return plan;
}

void PackedAllReduce::all_reduce(const TensorReduction& reduction) {
  const PackPlan plan = plan_of(reduction);
  if (plan.packs.empty()) return;
  const std::vector<CollectivePart> packed = parts_of(plan, reduction);
  for_each_copy(plan, reduction, packed, [](const auto& part, const auto& slice, const auto& pack) {
    part.stream->copy(part_of(pack.input, slice.offset, slice.elements),
                      part_of(part.input, slice.begin, slice.elements));
  });
  TensorReduction inner = reduction;
  inner.parts = packed;
  // An unspecified order may be the own order of packs alone.
  if (inner.order == ReductionOrder::kUnspecified) inner.order.reset();
  inner_->all_reduce(inner);
  for_each_copy(plan, reduction, packed, [](const auto& part, const auto& slice, const auto& pack) {
    part.stream->copy(part_of(part.output, slice.begin, slice.elements),
                      part_of(pack.output, slice.offset, slice.elements));
  });
}

}  // namespace belfry
