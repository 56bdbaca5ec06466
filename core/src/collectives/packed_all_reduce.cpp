// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/part_of.h"
#include "belfry/cross_device_ops.h"
#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/packs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {
namespace {

bool is_same_for_all_elements(ReductionOrder order) {
  return order == ReductionOrder::kReplicaOrder || order == ReductionOrder::kTree;
}

PackItem item_of(const CollectivePart& part) { return {part.input.count, part.input.dtype}; }

// The tensors of the first member, which are those of every member: packs of other tensors would
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
std::vector<CollectivePart> parts_of(const std::vector<Pack>& packs,
                                     const TensorReduction& reduction) {
  std::vector<CollectivePart> parts;
  parts.reserve(packs.size() * reduction.members);
  for (const Pack& pack : packs) {
    for (std::size_t member = 0; member < reduction.members; ++member) {
      CollectivePart part = reduction.tensor(pack.front())[member];
      if (pack.size() != 1) {
        std::size_t bytes = 0;
        for (const std::size_t item : pack) bytes += reduction.tensor(item)[member].input.bytes();
        const BufferPtr memory = part.stream->device().allocate(bytes, *part.stream);
        part.input = part.output = view_of(memory, part.input.dtype);
      }
      parts.push_back(part);
    }
  }
  return parts;
}

// Calls `copy(part of the tensor, place of the tensor in the pack)` for each tensor that is copied.
template <class Copy>
void for_each_copy(const std::vector<Pack>& packs, const TensorReduction& reduction,
                   const std::vector<CollectivePart>& packed, Copy&& copy) {
  for (std::size_t p = 0; p < packs.size(); ++p) {
    if (packs[p].size() == 1) continue;
    std::size_t offset = 0;
    for (const std::size_t item : packs[p]) {
      const std::size_t elements = reduction.tensor(item).front().input.count;
      for (std::size_t member = 0; member < reduction.members; ++member) {
        copy(reduction.tensor(item)[member],
             part_of(packed[p * reduction.members + member].input, offset, elements));
      }
      offset += elements;
    }
  }
}

// Copies the tensors of a call into packs, reduces the packs by the inner algorithm, and copies the
// results back.
class PackedAllReduce final : public CrossDeviceOps {
 public:
  PackedAllReduce(std::shared_ptr<CrossDeviceOps> inner, PackOptions options, CallSite site)
      : inner_(std::move(inner)),
        options_(options),
        site_(site),
        name_("packed " + std::string(inner_->name())) {}

  std::string_view name() const override { return name_; }
  void require_fit(const ReplicaDevices& devices) const override { inner_->require_fit(devices); }
  ReductionOrder order(ReplicaDevices& devices) const override {
    const ReductionOrder inner = inner_->order(devices);
    return is_same_for_all_elements(inner) ? inner : ReductionOrder::kUnspecified;
  }
  bool can_add_in(ReductionOrder order, ReplicaDevices& devices) const override {
    if (order == this->order(devices)) return true;
    return order != ReductionOrder::kRing && inner_->can_add_in(order, devices);
  }
  // The inner plan if it has one chunk, so that the place in a pack decides nothing.
  std::optional<ReductionPlan> plan(int members) const override {
    std::optional<ReductionPlan> inner = inner_->plan(members);
    if (inner && inner->chunks != 1) inner.reset();
    return inner;
  }
  void all_reduce(const TensorReduction& reduction) override {
    const std::vector<Pack> packs = packs_of(items_of(reduction, site_), options_);
    if (packs.empty()) return;
    const std::vector<CollectivePart> packed = parts_of(packs, reduction);
    for_each_copy(packs, reduction, packed,
                  [](const CollectivePart& part, const BufferView& place) {
                    part.stream->copy(place, part.input);
                  });
    TensorReduction inner = reduction;
    inner.parts = packed;
    // An unspecified order may be the own order of packs alone.
    if (inner.order == ReductionOrder::kUnspecified) inner.order.reset();
    inner_->all_reduce(inner);
    for_each_copy(packs, reduction, packed,
                  [](const CollectivePart& part, const BufferView& place) {
                    part.stream->copy(part.output, place);
                  });
  }

 private:
  std::shared_ptr<CrossDeviceOps> inner_;
  PackOptions options_;
  CallSite site_;
  std::string name_;
};

}  // namespace

std::shared_ptr<CrossDeviceOps> in_packs(std::shared_ptr<CrossDeviceOps> algorithm,
                                         PackOptions options, CallSite site) {
  const auto require = [site](bool holds, const std::string& wrong, const std::string& hint) {
    if (!holds) throw InvalidArgumentError(ErrorCode::kInvalidArgument, wrong, hint, site);
  };
  require(algorithm != nullptr, "packs have no algorithm",
          "name the algorithm that reduces the packs");
  const std::int64_t least = std::min(options.bytes_per_tensor, options.bytes_per_pack);
  require(least >= 0, fmt::format("{} bytes in packs are negative", least), "0 is no bound");
  return std::make_shared<PackedAllReduce>(std::move(algorithm), options, site);
}

}  // namespace belfry
