// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/orders/order_additions.h"

#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/orders/named_order.h"
#include "collectives/orders/ring_folds.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace belfry {
namespace orders {
namespace {

using Trees = std::vector<AdditionTree>;

AdditionTree left_fold(Trees terms) {
  AdditionTree sum = std::move(terms.front());
  for (std::size_t i = 1; i < terms.size(); ++i) {
    Trees pair;
    pair.push_back(std::move(sum));
    pair.push_back(std::move(terms[i]));
    sum = {.member = 0, .terms = std::move(pair)};
  }
  return sum;
}

// The sums of groups of `size` neighbours.
Trees sums_of_groups(const Trees& terms, std::size_t size) {
  Trees sums;
  for (std::size_t begin = 0; begin < terms.size(); begin += size) {
    const auto first = terms.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::size_t length = std::min(size, terms.size() - begin);
    sums.push_back(left_fold(Trees(first, first + static_cast<std::ptrdiff_t>(length))));
  }
  return sums;
}

AdditionTree by_pairs(Trees terms) {
  while (terms.size() > 1) terms = sums_of_groups(terms, 2);
  return std::move(terms.front());
}

AdditionTree by_groups_of_eight(Trees terms) {
  constexpr std::size_t group = 8;
  std::size_t first = terms.size() % group;
  if (first < 2) first = std::min(first + group, terms.size());
  const auto rest = terms.begin() + static_cast<std::ptrdiff_t>(first);
  Trees sums{left_fold(Trees(terms.begin(), rest))};
  for (AdditionTree& sum : sums_of_groups(Trees(rest, terms.end()), group)) {
    sums.push_back(std::move(sum));
  }
  return left_fold(std::move(sums));
}

Trees inputs(const std::vector<int>& members) {
  Trees inputs;
  for (const int member : members) inputs.push_back({.member = member});
  return inputs;
}

}  // namespace

AdditionTree left_fold(const std::vector<int>& members) { return left_fold(inputs(members)); }

AdditionTree additions_of_all(const NamedOrder& order, int members) {
  std::vector<int> places(static_cast<std::size_t>(members));
  std::iota(places.begin(), places.end(), 0);
  const auto root = places.begin() + order.root;
  switch (order.kind) {
    case OrderKind::kTree:
      std::rotate(places.begin(), root, places.end());
      return by_pairs(inputs(places));
    case OrderKind::kHalvingDoubling:
      return HalvingDoublingAllReduce().plan(members)->additions(0);
    case OrderKind::kGroups: {
      Trees sums = inputs(places);
      for (const int size : order.levels) {
        sums = sums_of_groups(sums, static_cast<std::size_t>(size));
      }
      return left_fold(std::move(sums));
    }
    case OrderKind::kRootFirst:
      std::rotate(places.begin(), root, root + 1);
      return left_fold(places);
    case OrderKind::kGroupsOfEight:
      std::iter_swap(places.begin(), root);
      return by_groups_of_eight(inputs(places));
    case OrderKind::kReplicaOrder:
    case OrderKind::kRing:
      break;
  }
  return left_fold(places);
}

}  // namespace orders

AdditionTree additions(const NamedOrder& order, const ReducedTensor& tensor, std::size_t element,
                       CallSite site) {
  orders::validate(order, tensor.members, tensor.dtype, site);
  if (element >= tensor.elements) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        fmt::format("element {} of a tensor with {} elements", element, tensor.elements),
        "elements are numbered from 0", site);
  }
  if (order.kind != OrderKind::kRing) return orders::additions_of_all(order, tensor.members);
  const int chunk = orders::cut(order.ring, tensor).chunk_of(element);
  const orders::RingFold fold = orders::fold_of(order.ring, tensor.members, chunk);
  return orders::left_fold(orders::members_of(fold, tensor.members));
}

}  // namespace belfry
