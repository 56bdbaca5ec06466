// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/orders/named_order.h"

#include "belfry/detail/options_text.h"
#include "belfry/error.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace belfry {
namespace {

using orders::most_chunks;

bool has_root(OrderKind kind) {
  return kind == OrderKind::kTree || kind == OrderKind::kRootFirst ||
         kind == OrderKind::kGroupsOfEight;
}

bool is_half(DType dtype) { return is_floating(dtype) && size_of(dtype) == 2; }

bool has_possible_count(const RingOrder& ring, int members) {
  if (ring.count == 0) return true;
  const int most = ring.hosts == 1 ? most_chunks(members) : 1;
  return ring.chunks == RingChunks::kRoundedUp && ring.subchunks == 1 && ring.count >= 1 &&
         ring.count <= most && (ring.count == 1 || ring.count != members);
}

bool fits(const RingOrder& ring, int members) {
  if (ring.hosts < 1 || members % ring.hosts != 0) return false;
  if (ring.hosts > 1 && ring.hosts == members) return false;
  const int replicas = members / ring.hosts;
  const int most = ring.chunks == RingChunks::kRoundedUp ? replicas : 1;
  const int rotations = ring.hosts == 1 ? 1 : replicas;
  return has_possible_count(ring, members) && ring.subchunks >= 1 && ring.subchunks <= most &&
         ring.start >= 0 && ring.start < members && ring.rotation >= 0 && ring.rotation < rotations;
}

bool fit(const std::vector<int>& levels, int members) {
  int sums = members;
  for (const int size : levels) {
    if (size < 2 || size >= sums) return false;
    if (sums % size != 0 && levels.size() > 1) return false;
    sums /= size;
  }
  return !levels.empty();
}

}  // namespace

std::string to_string(const RingOrder& ring) {
  std::string text = "ring";
  if (ring.chunks == RingChunks::kRemainderLast) text += ", remainder last";
  if (ring.chunks == RingChunks::kCacheLines) text += ", chunks of cache lines";
  if (ring.count == 1) text += ", one chunk";
  if (ring.count > 1) text += fmt::format(", {} chunks", ring.count);
  if (ring.subchunks > 1) text += fmt::format(", {} subchunks", ring.subchunks);
  if (ring.hosts > 1) text += fmt::format(", {} hosts", ring.hosts);
  if (ring.start > 0) text += fmt::format(", start {}", ring.start);
  if (ring.rotation > 0) text += fmt::format(", rotation {}", ring.rotation);
  if (ring.reversed) text += ", reversed";
  return text;
}

namespace {

std::string text_of_kind(const NamedOrder& order) {
  switch (order.kind) {
    case OrderKind::kReplicaOrder:
      return "replica order";
    case OrderKind::kTree:
      return order.root == 0 ? "tree" : fmt::format("tree, root {}", order.root);
    case OrderKind::kHalvingDoubling:
      return "halving and doubling";
    case OrderKind::kRing:
      return to_string(order.ring);
    case OrderKind::kGroups:
      return fmt::format("groups of {}", fmt::join(order.levels, ", then of "));
    case OrderKind::kRootFirst:
      return fmt::format("root {} first", order.root);
    case OrderKind::kGroupsOfEight:
      return order.root == 0 ? "groups of eight"
                             : fmt::format("groups of eight, root {}", order.root);
  }
  return "";
}

}  // namespace

std::string to_string(OrderKind kind) {
  constexpr std::array<std::string_view, 7> kWords{
      "replica order", "tree",       "halving and doubling", "ring",
      "groups",        "root first", "groups of eight"};
  return detail::word_of(kWords, static_cast<int>(kind));
}

std::string to_string(RingChunks chunks) {
  constexpr std::array<std::string_view, 3> kWords{"rounded up", "remainder last", "cache lines"};
  return detail::word_of(kWords, static_cast<int>(chunks));
}

std::string to_string(SumRounding rounding) {
  constexpr std::array<std::string_view, 2> kWords{"once", "each addition"};
  return detail::word_of(kWords, static_cast<int>(rounding));
}

std::string to_string(OrderOp op) {
  constexpr std::array<std::string_view, 5> kWords{"sum", "mean", "min", "max", "prod"};
  return detail::word_of(kWords, static_cast<int>(op));
}

std::string to_string(const ReducedTensor& tensor) {
  return fmt::format("{} members, {} elements, {}", tensor.members, tensor.elements,
                     to_string(tensor.dtype));
}

std::string to_string(const OrderArithmetic& arithmetic) {
  const bool rounds_each = arithmetic.rounding == SumRounding::kEachAddition;
  return fmt::format("{} of {}{}", to_string(arithmetic.op), to_string(arithmetic.dtype),
                     rounds_each ? ", rounded at each addition" : "");
}

std::string to_string(const NamedOrder& order) {
  const bool rounds_each = order.rounding == SumRounding::kEachAddition;
  return text_of_kind(order) + (rounds_each ? ", rounded at each addition" : "");
}

NamedOrder tensorflow_order() {
  return {.kind = OrderKind::kRing, .ring = {.chunks = RingChunks::kCacheLines}};
}

namespace orders {

void require_explained(DType dtype, CallSite site) {
  if (dtype == DType::kFloat32 || is_half(dtype)) return;
  throw InvalidArgumentError(ErrorCode::kDType,
                             "named orders do not explain sums of " + to_string(dtype),
                             "use float32, float16 or bfloat16", site);
}

void validate(const NamedOrder& order, int members, DType dtype, CallSite site) {
  std::string what;
  if (members < 1) {
    what = "there are no members";
  } else if (order.root < 0 || order.root >= members || (order.root > 0 && !has_root(order.kind))) {
    what = "the root is impossible";
  } else if (order.kind == OrderKind::kRing ? !fits(order.ring, members)
                                            : order.ring != RingOrder{}) {
    what = "the ring is impossible";
  } else if (order.kind == OrderKind::kGroups ? !fit(order.levels, members)
                                              : !order.levels.empty()) {
    what = "the levels are impossible";
  } else if (order.rounding != SumRounding::kOnce && !is_half(dtype)) {
    what = to_string(dtype) + " is never rounded at each addition";
  } else {
    return;
  }
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      fmt::format("the order '{}' of {} members: {}", to_string(order), members, what),
      "named_orders lists the orders of a number of members", site);
}

}  // namespace orders
}  // namespace belfry
