// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace belfry {

/// A tensor to be packed (SEM-149).
struct PackItem {
  std::size_t elements = 0;       ///< The number of elements.
  DType dtype = DType::kFloat32;  ///< The element type.

  std::size_t bytes() const { return elements * size_of(dtype); }  ///< The size.
  bool operator==(const PackItem&) const = default;
};

/// `3 elements of float32`.
std::string to_string(const PackItem& item);

/// Consecutive elements of an item, and their place in a pack.
struct PackSlice {
  std::size_t item = 0;      ///< The index of the item.
  std::size_t begin = 0;     ///< The first of the elements, in the item.
  std::size_t elements = 0;  ///< The number of elements: at least 1.
  std::size_t offset = 0;    ///< The place of the first element in the pack.

  bool operator==(const PackSlice&) const = default;
};

/// `item 1 [0, 2)`.
std::string to_string(const PackSlice& slice);

/// Slices of one element type that are reduced as one tensor.
struct PackedTensor {
  DType dtype = DType::kFloat32;    ///< The element type of all slices.
  std::vector<PackSlice> slices{};  ///< In the order of the pack, without gaps: at least 1.

  std::size_t elements() const;                                      ///< The number of elements.
  std::size_t bytes() const { return elements() * size_of(dtype); }  ///< The size.
  bool operator==(const PackedTensor&) const = default;
};

/// `float32, 3 elements: item 1 [0, 2), item 2 [0, 1)`.
std::string to_string(const PackedTensor& pack);

/// The places of all elements of items in packs. Every element is in one pack; items without
/// elements are in none. Equal items and limits give equal plans.
struct PackPlan {
  std::vector<PackItem> items{};      ///< The packed tensors.
  std::vector<PackedTensor> packs{};  ///< In the order of their reductions.

  bool operator==(const PackPlan&) const = default;
};

/// `pack 0, float32, 3 elements: item 1 [0, 2), item 2 [0, 1)`; a line for each pack.
std::string to_string(const PackPlan& plan);

/// Throws: InvalidArgumentError (kInvalidArgument) with the pack and the item, unless every element
/// of every item is in one pack, no pack is empty or has gaps, and each has one element type.
void validate(const PackPlan& plan, CallSite site = CallSite::here());

/// The order in which items are put into packs.
enum class PackOrder : std::uint8_t {
  kLastFirst,   ///< From the last item to the first: gradients of last layers are ready first.
  kFirstFirst,  ///< From the first item to the last.
};

/// `last first`, `first first`.
std::string to_string(PackOrder order);

/// Throws: StructureMismatchError (kStructure) with the first pack that differs, unless all plans
/// are equal. `plans[i]` is the plan of replica i.
void require_equal_plans(std::span<const PackPlan> plans, CallSite site = CallSite::here());

/// Packs of whole items. A pack takes items until the pack has more than `bytes_per_pack` bytes; an
/// item with more bytes has a pack of its own. No pack of several items has more than twice the
/// bound. 0 is no bound: a pack for each element type. Packs are in the order in which their last
/// item is reached; the slices of a pack are in the order of the items.
/// Throws: InvalidArgumentError (kInvalidArgument) for a negative number.
PackPlan pack_by_bytes(std::span<const PackItem> items, std::int64_t bytes_per_pack,
                       PackOrder order = PackOrder::kLastFirst, CallSite site = CallSite::here());

/// As pack_by_bytes from the last item to the first, but for items of more than `bytes_per_item`
/// bytes, each of which has a pack of its own. 0 is no bound.
/// Throws: InvalidArgumentError (kInvalidArgument) for a negative number.
PackPlan pack_small_items(std::span<const PackItem> items, std::int64_t bytes_per_item,
                          std::int64_t bytes_per_pack, CallSite site = CallSite::here());

/// The items of each element type, concatenated and cut into `packs` packs. All have n / packs
/// elements, rounded down, and the last has the rest as well; packs without elements are left out.
/// Element types are in the order of their first items.
/// Throws: InvalidArgumentError (kInvalidArgument) unless `packs` is at least 1.
PackPlan concatenate_and_split(std::span<const PackItem> items, int packs,
                               CallSite site = CallSite::here());

/// Neighbouring items of one element type, of at most `max_bytes` bytes each, in packs of at most
/// `max_group` items. Packs of several items come first; the other items follow, each in a pack of
/// its own.
/// Throws: InvalidArgumentError (kInvalidArgument) unless both numbers are at least 1.
PackPlan aggregate_small_tensors(std::span<const PackItem> items, std::int64_t max_bytes,
                                 int max_group, CallSite site = CallSite::here());

namespace detail {
template <>
inline constexpr bool kPrints<PackItem> = true;
template <>
inline constexpr bool kPrints<PackSlice> = true;
template <>
inline constexpr bool kPrints<PackedTensor> = true;
template <>
inline constexpr bool kPrints<PackPlan> = true;
template <>
inline constexpr bool kPrints<PackOrder> = true;
}  // namespace detail

}  // namespace belfry
