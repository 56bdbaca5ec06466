// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/pack_plan.h"

#include "belfry/detail/options_text.h"
#include "belfry/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

namespace belfry {
namespace {

void require(bool holds, const std::string& wrong, const std::string& hint, CallSite site) {
  if (!holds) throw InvalidArgumentError(ErrorCode::kInvalidArgument, wrong, hint, site);
}

void append(PackedTensor& pack, std::size_t item, std::size_t begin, std::size_t elements) {
  pack.slices.push_back({item, begin, elements, pack.elements()});
}

PackedTensor pack_of(std::span<const PackItem> items, const std::vector<std::size_t>& members) {
  PackedTensor pack{.dtype = items[members.front()].dtype};
  for (const std::size_t item : members) append(pack, item, 0, items[item].elements);
  return pack;
}

// The items of one element type that have elements.
std::vector<std::size_t> items_of(std::span<const PackItem> items, DType dtype) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].dtype == dtype && items[i].elements != 0) found.push_back(i);
  }
  return found;
}

// The element types of items with elements, in the order of their first items.
std::vector<DType> types_of(std::span<const PackItem> items) {
  std::vector<DType> types;
  for (const PackItem& item : items) {
    if (item.elements != 0 && std::ranges::find(types, item.dtype) == types.end()) {
      types.push_back(item.dtype);
    }
  }
  return types;
}

// Appends packs of the items of one type.
void split(std::span<const PackItem> items, DType dtype, std::size_t packs,
           std::vector<PackedTensor>& result) {
  const std::vector<std::size_t> members = items_of(items, dtype);
  std::size_t left = 0;
  for (const std::size_t item : members) left += items[item].elements;
  const std::size_t each = left / packs;
  std::size_t full = each == 0 ? packs - 1 : 0;  // Packs without elements count as full.
  PackedTensor pack{.dtype = dtype};
  for (const std::size_t item : members) {
    for (std::size_t begin = 0; begin < items[item].elements;) {
      const std::size_t rest = items[item].elements - begin;
      const bool is_last = full + 1 == packs;
      const std::size_t taken = is_last ? rest : std::min(rest, each - pack.elements());
      append(pack, item, begin, taken);
      begin += taken;
      if (is_last || pack.elements() < each) continue;
      result.push_back(std::exchange(pack, PackedTensor{.dtype = dtype}));
      full += 1;
    }
  }
  if (!pack.slices.empty()) result.push_back(std::move(pack));
}

// The first pack that differs; behind the last pack if a plan has more packs.
[[noreturn]] void throw_plans_differ(const PackPlan& first, const PackPlan& other,
                                     std::size_t replica, CallSite site) {
  std::size_t differs = 0;
  while (differs < first.packs.size() && differs < other.packs.size() &&
         first.packs[differs] == other.packs[differs]) {
    ++differs;
  }
  const auto text = [differs](const PackPlan& plan) {
    return differs < plan.packs.size()
               ? fmt::format("has pack {}, {}", differs, to_string(plan.packs[differs]))
               : fmt::format("has {} packs", plan.packs.size());
  };
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "replicas pack their tensors in different ways";
  report.site = site;
  report.replicas = {{0, site, text(first)}, {static_cast<int>(replica), site, text(other)}};
  report.expected = "equal plans on all replicas";
  report.hint = "plan from the same items, with the same limits";
  throw StructureMismatchError(std::move(report));
}

// No item, and no pack, has more bytes than a size.
constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();

// 0 is no bound.
std::size_t bound(std::string_view what, std::int64_t bytes, CallSite site) {
  require(bytes >= 0, fmt::format("{} bytes in {} are negative", bytes, what), "0 is no bound",
          site);
  return bytes == 0 ? kNoBound : static_cast<std::size_t>(bytes);
}

struct Bounds {
  std::size_t item;  // A larger item has a pack of its own.
  std::size_t pack;  // A pack with more bytes takes no more items.
};

PackPlan pack_bounded(std::span<const PackItem> items, Bounds bounds, PackOrder order) {
  struct Open {
    std::vector<std::size_t> members{};
    std::size_t bytes = 0;
    std::size_t last_step = 0;
  };
  std::array<Open, kNumDTypes> open;  // The pack of each element type that takes more items.
  std::vector<Open> full;
  for (std::size_t step = 0; step < items.size(); ++step) {
    const std::size_t i = order == PackOrder::kLastFirst ? items.size() - 1 - step : step;
    if (items[i].elements == 0) continue;
    if (items[i].bytes() > bounds.item) {
      full.push_back({.members = {i}, .last_step = step});
      continue;
    }
    Open& pack = open[static_cast<std::size_t>(items[i].dtype)];
    pack.members.push_back(i);
    pack.bytes += items[i].bytes();
    pack.last_step = step;
    if (pack.bytes > bounds.pack) full.push_back(std::exchange(pack, Open{}));
  }
  for (Open& pack : open) {
    if (!pack.members.empty()) full.push_back(std::move(pack));
  }
  std::ranges::sort(full, {}, &Open::last_step);
  PackPlan plan{.items = {items.begin(), items.end()}};
  for (Open& pack : full) {
    std::ranges::sort(pack.members);
    plan.packs.push_back(pack_of(items, pack.members));
  }
  return plan;
}

}  // namespace

std::size_t PackedTensor::elements() const {
  return slices.empty() ? 0 : slices.back().offset + slices.back().elements;
}

std::string to_string(const PackItem& item) {
  return fmt::format("{} elements of {}", item.elements, to_string(item.dtype));
}

std::string to_string(const PackSlice& slice) {
  return fmt::format("item {} [{}, {})", slice.item, slice.begin, slice.begin + slice.elements);
}

std::string to_string(const PackedTensor& pack) {
  std::string text = fmt::format("{}, {} elements:", to_string(pack.dtype), pack.elements());
  for (const PackSlice& slice : pack.slices) text += ' ' + to_string(slice) + ',';
  text.pop_back();
  return text;
}

std::string to_string(const PackPlan& plan) {
  std::string text;
  for (std::size_t p = 0; p < plan.packs.size(); ++p) {
    text += fmt::format("pack {}, {}\n", p, to_string(plan.packs[p]));
  }
  return text;
}

std::string to_string(PackOrder order) {
  constexpr std::array<std::string_view, 2> kWords{"last first", "first first"};
  return detail::word_of(kWords, static_cast<int>(order));
}

void validate(const PackPlan& plan, CallSite site) {
  const std::string hint = "put each element of an item into one pack";
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> ranges(plan.items.size());
  for (std::size_t p = 0; p < plan.packs.size(); ++p) {
    const PackedTensor& pack = plan.packs[p];
    require(!pack.slices.empty(), fmt::format("pack {} is empty", p), hint, site);
    std::size_t offset = 0;
    for (const PackSlice& slice : pack.slices) {
      const std::string where = fmt::format("pack {} has item {}", p, slice.item);
      require(slice.item < plan.items.size(), where + ", which does not exist", hint, site);
      const PackItem& item = plan.items[slice.item];
      require(item.dtype == pack.dtype, where + ", of another element type", hint, site);
      require(slice.elements != 0, where + " without elements", hint, site);
      require(slice.begin < item.elements && slice.elements <= item.elements - slice.begin,
              where + " beyond its end", hint, site);
      require(slice.offset == offset, where + " with a gap before", hint, site);
      offset += slice.elements;
      ranges[slice.item].emplace_back(slice.begin, slice.begin + slice.elements);
    }
  }
  for (std::size_t item = 0; item < ranges.size(); ++item) {
    std::ranges::sort(ranges[item]);
    std::size_t reached = 0;
    for (const auto& [begin, end] : ranges[item]) {
      require(begin == reached,
              fmt::format("element {} of item {} is in {}", std::min(begin, reached), item,
                          begin < reached ? "two packs" : "no pack"),
              hint, site);
      reached = end;
    }
    require(reached == plan.items[item].elements,
            fmt::format("element {} of item {} is in no pack", reached, item), hint, site);
  }
}

void require_equal_plans(std::span<const PackPlan> plans, CallSite site) {
  for (std::size_t replica = 1; replica < plans.size(); ++replica) {
    if (plans[replica] != plans[0]) throw_plans_differ(plans[0], plans[replica], replica, site);
  }
}

PackPlan pack_by_bytes(std::span<const PackItem> items, std::int64_t bytes_per_pack,
                       PackOrder order, CallSite site) {
  const std::size_t pack = bound("a pack", bytes_per_pack, site);
  return pack_bounded(items, {pack, pack}, order);
}

PackPlan pack_small_items(std::span<const PackItem> items, std::int64_t bytes_per_item,
                          std::int64_t bytes_per_pack, CallSite site) {
  const std::size_t item = bound("an item", bytes_per_item, site);
  const std::size_t pack = bound("a pack", bytes_per_pack, site);
  return pack_bounded(items, {std::min(item, pack), pack}, PackOrder::kLastFirst);
}

PackPlan concatenate_and_split(std::span<const PackItem> items, int packs, CallSite site) {
  require(packs >= 1, fmt::format("{} packs cannot hold the items", packs), "name at least 1 pack",
          site);
  PackPlan plan{.items = {items.begin(), items.end()}};
  for (const DType dtype : types_of(items)) {
    split(items, dtype, static_cast<std::size_t>(packs), plan.packs);
  }
  return plan;
}

PackPlan aggregate_small_tensors(std::span<const PackItem> items, std::int64_t max_bytes,
                                 int max_group, CallSite site) {
  require(max_bytes >= 1 && max_group >= 1,
          fmt::format("{} bytes and {} items in a group are no limits", max_bytes, max_group),
          "name at least 1 byte and 1 item", site);
  PackPlan plan{.items = {items.begin(), items.end()}};
  std::vector<std::vector<std::size_t>> alone;
  std::vector<std::size_t> run;
  const auto end_run = [&] {
    if (run.size() == 1) alone.push_back(run);
    if (run.size() > 1) plan.packs.push_back(pack_of(items, run));
    run.clear();
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].elements == 0) continue;
    const bool is_small = items[i].bytes() <= static_cast<std::size_t>(max_bytes);
    const bool is_full = run.size() == static_cast<std::size_t>(max_group);
    if (!is_small || is_full || (!run.empty() && items[run[0]].dtype != items[i].dtype)) end_run();
    run.push_back(i);
    if (!is_small) end_run();
  }
  end_run();
  for (const auto& item : alone) plan.packs.push_back(pack_of(items, item));
  return plan;
}

}  // namespace belfry
