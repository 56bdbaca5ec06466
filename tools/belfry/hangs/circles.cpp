// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/waits.h"

#include <algorithm>
#include <cstddef>
#include <deque>

namespace belfry::tool::hangs {
namespace {

// Sets of ranks with waits for each other, directly or over further ranks (Tarjan's algorithm).
class Sets {
 public:
  Sets(const Waits& waits, int ranks) : waits_(waits), nodes_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (node(rank).number == 0 && !waits.of(rank).empty()) visit(rank);
    }
  }

  std::vector<std::vector<int>> sets{};  ///< Of two or more.

 private:
  struct Node {
    int number = 0;  // In the order of the visits, from 1.
    int lowest = 0;  // Of the nodes reached from here.
    bool stacked = false;
  };

  Node& node(int rank) { return nodes_[static_cast<std::size_t>(rank)]; }

  void visit(int rank) {
    node(rank) = {.number = ++count_, .lowest = count_, .stacked = true};
    stack_.push_back(rank);
    for (const Wait& wait : waits_.of(rank)) {
      if (node(wait.for_rank).number == 0) visit(wait.for_rank);
      const Node& other = node(wait.for_rank);
      if (other.stacked) node(rank).lowest = std::min(node(rank).lowest, other.lowest);
    }
    if (node(rank).lowest == node(rank).number) take_set(rank);
  }

  void take_set(int rank) {
    const auto begin = std::find(stack_.begin(), stack_.end(), rank);
    std::vector<int> set(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    for (const int member : set) node(member).stacked = false;
    std::sort(set.begin(), set.end());
    if (set.size() > 1) sets.push_back(std::move(set));
  }

  const Waits& waits_;
  std::vector<Node> nodes_;
  std::vector<int> stack_;
  int count_ = 0;
};

// The shortest way from the rank back to the rank, inside the set.
std::vector<Wait> circle_from(int rank, const std::vector<int>& set, const Waits& waits) {
  std::map<int, Wait> came;  // The wait before each rank.
  std::deque<int> next = {rank};
  while (!next.empty()) {
    const int here = next.front();
    next.pop_front();
    for (const Wait& wait : waits.of(here)) {
      if (!std::binary_search(set.begin(), set.end(), wait.for_rank)) continue;
      if (came.contains(wait.for_rank)) continue;
      came[wait.for_rank] = wait;
      if (wait.for_rank != rank) {
        next.push_back(wait.for_rank);
        continue;
      }
      std::vector<Wait> circle = {wait};
      while (circle.back().rank != rank) circle.push_back(came.at(circle.back().rank));
      std::reverse(circle.begin(), circle.end());
      return circle;
    }
  }
  return {};
}

}  // namespace

std::vector<std::vector<Wait>> circles(const Waits& waits, int ranks) {
  constexpr std::size_t kStarts = 128;  // Ranks of a set to begin at.
  std::vector<std::vector<Wait>> circles;
  for (const std::vector<int>& set : Sets(waits, ranks).sets) {
    std::vector<Wait> shortest;
    for (std::size_t i = 0; i < std::min(set.size(), kStarts); ++i) {
      std::vector<Wait> circle = circle_from(set[i], set, waits);
      if (shortest.empty() || circle.size() < shortest.size()) shortest = std::move(circle);
    }
    circles.push_back(std::move(shortest));
  }
  std::sort(circles.begin(), circles.end(),
            [](const auto& a, const auto& b) { return a.front().rank < b.front().rank; });
  return circles;
}

}  // namespace belfry::tool::hangs
