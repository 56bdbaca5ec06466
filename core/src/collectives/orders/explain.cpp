// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/addition_order.h"
#include "collectives/orders/evaluate.h"
#include "collectives/orders/named_order.h"
#include "collectives/orders/order_additions.h"
#include "collectives/orders/require_rows.h"
#include "collectives/orders/ring_folds.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

// All orders are tried on a block of elements, and the orders that are left on the next block.
// Rings share folds: with N members, the thousands of rings go round in some hundred ways. A fold
// is computed for the whole block when a ring first has a chunk with the fold there, and then kept
// as the number of wrong elements before each element, so that a chunk is two look-ups.
namespace belfry::detail {
namespace {

constexpr std::size_t kBlock = 1024;

class Block {
 public:
  Block(const OrderQuestion& question, std::size_t begin)
      : question_(question),
        begin_(begin),
        end_(std::min(begin + kBlock, question.result.size())) {}

  bool is_explained_by(const NamedOrder& order) {
    const auto members = static_cast<int>(question_.inputs.size());
    if (order.kind != OrderKind::kRing) {
      return faults(orders::additions_of_all(order, members), order.rounding).back() == 0;
    }
    const orders::RingCut cut =
        orders::cut(order.ring, {members, question_.result.size(), question_.dtype});
    for (std::size_t from = begin_; from < end_;) {
      const int chunk = cut.chunk_of(from);
      const std::size_t to = std::min(end_, cut.end_of(chunk, question_.result.size()));
      const auto& counts = faults(orders::fold_of(order.ring, members, chunk), order.rounding);
      if (counts[to - begin_] != counts[from - begin_]) return false;
      from = to;
    }
    return true;
  }

 private:
  using Counts = std::vector<std::size_t>;

  Counts faults(const AdditionTree& tree, SumRounding rounding) const {
    const std::vector<float> values =
        orders::evaluate(tree, {question_.inputs, begin_, end_},
                         {.dtype = question_.dtype, .op = question_.op, .rounding = rounding});
    Counts counts{0};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool fault = !orders::have_equal_bits(values[i], question_.result[begin_ + i]);
      counts.push_back(counts.back() + (fault ? 1 : 0));
    }
    return counts;
  }

  const Counts& faults(const orders::RingFold& fold, SumRounding rounding) {
    auto [at, is_new] = faults_of_rings_.try_emplace({fold, rounding});
    if (is_new) {
      const auto members = static_cast<int>(question_.inputs.size());
      at->second = faults(orders::left_fold(orders::members_of(fold, members)), rounding);
    }
    return at->second;
  }

  const OrderQuestion& question_;
  std::size_t begin_;
  std::size_t end_;
  std::map<std::pair<orders::RingFold, SumRounding>, Counts> faults_of_rings_;
};

void keep_those_that_explain(const OrderQuestion& question, std::vector<NamedOrder>& orders) {
  for (std::size_t begin = 0; begin < question.result.size() && !orders.empty(); begin += kBlock) {
    Block block(question, begin);
    std::erase_if(orders, [&](const NamedOrder& order) { return !block.is_explained_by(order); });
  }
}

}  // namespace

std::vector<NamedOrder> orders_that_explain(const OrderQuestion& question, CallSite site) {
  orders::require_rows(question, site);
  std::vector<NamedOrder> orders =
      named_orders(static_cast<int>(question.inputs.size()), question.dtype, site);
  keep_those_that_explain(question, orders);
  return orders;
}

bool explains(const NamedOrder& order, const OrderQuestion& question, CallSite site) {
  orders::require_rows(question, site);
  orders::validate(order, static_cast<int>(question.inputs.size()), question.dtype, site);
  std::vector<NamedOrder> orders{order};
  keep_those_that_explain(question, orders);
  return !orders.empty();
}

}  // namespace belfry::detail
