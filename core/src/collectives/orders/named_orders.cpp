// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/addition_order.h"
#include "belfry/error.h"
#include "collectives/orders/named_order.h"

#include <string>

namespace belfry {
namespace {

using Orders = std::vector<NamedOrder>;

void add_equal_groups(int sums, std::vector<int> levels, Orders& list) {
  levels.push_back(0);
  for (int size = 2; size < sums; ++size) {
    if (sums % size != 0) continue;
    levels.back() = size;
    list.push_back({.kind = OrderKind::kGroups, .levels = levels});
    add_equal_groups(sums / size, levels, list);
  }
}

void add_groups(int members, Orders& list) {
  add_equal_groups(members, {}, list);
  for (int size = 2; size < members; ++size) {
    if (members % size != 0) list.push_back({.kind = OrderKind::kGroups, .levels = {size}});
  }
}

void add_starts(RingOrder ring, int members, Orders& list) {
  const int rotations = ring.hosts == 1 ? 1 : members / ring.hosts;
  for (const bool reversed : {false, true}) {
    ring.reversed = reversed;
    for (ring.rotation = 0; ring.rotation < rotations; ++ring.rotation) {
      for (ring.start = 0; ring.start < members; ++ring.start) {
        list.push_back({.kind = OrderKind::kRing, .ring = ring});
      }
    }
  }
}

void add_rings(int hosts, int members, Orders& list) {
  for (const RingChunks chunks :
       {RingChunks::kRoundedUp, RingChunks::kCacheLines, RingChunks::kRemainderLast}) {
    add_starts({.chunks = chunks, .hosts = hosts}, members, list);
  }
  add_starts({.count = 1, .hosts = hosts}, members, list);
  for (int subchunks = 2; subchunks <= members / hosts; ++subchunks) {
    add_starts({.subchunks = subchunks, .hosts = hosts}, members, list);
  }
  for (int count = 2; hosts == 1 && count <= orders::most_chunks(members); ++count) {
    if (count != members) add_starts({.count = count}, members, list);
  }
}

}  // namespace

std::vector<NamedOrder> named_orders(int members, DType dtype, CallSite site) {
  orders::require_explained(dtype, site);
  if (members < 1) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "an order of " + std::to_string(members) + " members",
                               "name at least one member", site);
  }
  Orders orders{{.kind = OrderKind::kReplicaOrder}};
  for (const OrderKind kind :
       {OrderKind::kTree, OrderKind::kRootFirst, OrderKind::kGroupsOfEight}) {
    for (int root = 0; root < members; ++root) orders.push_back({.kind = kind, .root = root});
  }
  orders.push_back({.kind = OrderKind::kHalvingDoubling});
  add_groups(members, orders);
  add_rings(1, members, orders);
  for (int hosts = 2; hosts < members; ++hosts) {
    if (members % hosts == 0) add_rings(hosts, members, orders);
  }
  if (dtype == DType::kFloat32) return orders;
  const std::size_t once = orders.size();
  for (std::size_t i = 0; i < once; ++i) {
    orders.push_back(orders[i]);
    orders.back().rounding = SumRounding::kEachAddition;
  }
  return orders;
}

}  // namespace belfry
