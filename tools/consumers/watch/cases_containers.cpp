// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "replicas.h"

#include <iterator>
#include <list>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

Row push_back() {
  std::vector<std::size_t> ids;
  const Body body = [&](std::size_t id, int) { ids.push_back(id); };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 1)};
}

Row string_end() {
  std::string word;
  const Body body = [&](std::size_t id, int) { word += id == 0 ? "zero" : "one"; };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 1)};
}

Row list() {
  std::list<std::size_t> shared;
  const Body body = [&](std::size_t id, int) { shared.push_back(id); };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 1)};
}

Row unordered_set() {
  std::unordered_set<std::size_t> shared;
  const Body body = [&](std::size_t id, int) { shared.insert(id); };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 1)};
}

// The walk reads two nodes, and no other part of the map.
Row insertion_beside_walk() {
  std::map<int, int> shared;
  for (int k = 0; k < 100; k += 10) shared[k] = k;
  const auto from = shared.find(40);
  int next = 0;
  const auto step = [&](std::size_t id) {
    return id == 0 ? shared.emplace_hint(shared.end(), 45, 1) : std::next(from);
  };
  const Body body = [&](std::size_t id, int) {
    const auto found = step(id);
    if (id == 1) next = found->first;
  };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 6)};
}

Row letters_of_string() {
  std::string word(100, 'a');
  std::string got;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) word[50] = 'b';
    if (id == 1) got = word;
  };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 4) + ", " + did_read(__FILE__, __LINE__ - 3)};
}

Row copy_of_vector() {
  std::vector<int> shared(64);
  std::vector<int> got;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) shared[7] = 1;
    if (id == 1) got = shared;
  };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 4) + ", " + did_read(__FILE__, __LINE__ - 3)};
}

Row reversed_list() {
  std::list<int> shared{1, 2, 3};
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) shared.reverse();
    if (id == 1) got[id] = shared.front();
  };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 4) + ", " + did_read(__FILE__, __LINE__ - 3)};
}

Row sorted_list() {
  std::vector<std::list<int>> lists{{3, 1, 2}, {2, 1}};
  const Body body = [&](std::size_t id, int) { lists[id].sort(); };
  return {text(watched(1, body)), ""};
}

}  // namespace

std::vector<Case> container_cases() {
  return {{"push_back", push_back},
          {"the end of a string", string_end},
          {"a list", list},
          {"an unordered set", unordered_set},
          {"an insertion beside a walk", insertion_beside_walk},
          {"the letters of a string", letters_of_string},
          {"a copy of a vector", copy_of_vector},
          {"a reversed list", reversed_list},
          {"sorted lists of each replica", sorted_list}};
}
