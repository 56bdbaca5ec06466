// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "replicas.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

// A row whose two replicas execute the line `line`: a write, then `second`.
std::string writes_on(int line, const std::string& second) {
  return wrote(__FILE__, line) + ", " + at_line(__FILE__, line) + second;
}

Row captured_double() {
  double total = 0;
  const Body body = [&](std::size_t id, int) { total = 10 * total + static_cast<double>(id); };
  return {text(watched(1, body)), writes_on(__LINE__ - 1, " read")};
}

Row equal_writes() {
  bool started = false;
  const Body body = [&](std::size_t, int) { started = true; };
  return {text(watched(1, body)), writes_on(__LINE__ - 1, " write")};
}

struct Large {
  double parts[12];
};

Row large_object() {
  Large shared{};
  const Large from{};
  const Body body = [&](std::size_t, int) { shared = from; };
  return {text(watched(1, body)), writes_on(__LINE__ - 1, " write")};
}

Row own_slots() {
  std::vector<double> slots(2);
  std::array<char, 2> letters{};
  const Body body = [&](std::size_t id, int) {
    slots[id] += static_cast<double>(id);
    letters[id] = 'a';
  };
  return {text(watched(2, body)), ""};
}

Row constant_table() {
  const std::map<std::string, std::size_t> table{{"a", 1}, {"b", 2}};
  std::vector<std::size_t> sums(2);
  const Body body = [&](std::size_t id, int) {
    for (const auto& [name, value] : table) sums[id] += value + name.size();
  };
  return {text(watched(1, body)), ""};
}

Row value_over_merge() {
  int value = 0;
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int phase) {
    if (phase == 0 && id == 0) value = 5;
    if (phase == 1) got[id] = value;
  };
  return {text(watched(2, body)), ""};
}

// Blocks that replica 0 frees are replica 1's next.
Row own_heap() {
  std::vector<std::size_t> sizes(2);
  const Body body = [&](std::size_t id, int) {
    std::vector<std::string> words;
    std::map<int, std::string> names;
    std::unordered_map<std::string, int> numbers;
    for (int k = 0; k < 40; ++k) {
      words.push_back(std::string(30, static_cast<char>('a' + k % 26)));
      names[k * 7 % 40] = words.back();
      numbers[words.back()] = k;
    }
    names.erase(20);
    sizes[id] = words.size() + names.size() + numbers.size();
  };
  return {text(watched(2, body)), ""};
}

Row value_not_reduced() {
  double loss = 0;
  double total = 0;
  const Body body = [&](std::size_t id, int) {
    if (id == 1) loss = 0.5;
  };
  const auto merge = [&] { total += loss; };
  return {text(watched(1, body, merge)),
          "merge: " + wrote(__FILE__, __LINE__ - 4) + ", " + did_read(__FILE__, __LINE__ - 2)};
}

Row slots_in_merge() {
  std::vector<double> slots(2);
  double total = 0;
  const Body body = [&](std::size_t id, int) { slots[id] = 1; };
  const auto merge = [&] {
    for (const double slot : slots) total += slot;
  };
  return {text(watched(1, body, merge)), ""};
}

// Replica 0 ends a block, and replica 1 reads the block.
bool is_seen(char* block, void (*end)(char*)) {
  std::vector<char> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) end(block);
    if (id == 1) got[id] = block[0];
  };
  return !watched(1, body).conflicts.empty();
}

struct alignas(64) Wide {
  char bytes[64] = {};
  ~Wide() { bytes[0] = 1; }  // Arrays keep the number of elements.
};

Row ended_blocks() {
  constexpr std::align_val_t kWide{64};
  const auto aligned = [=] { return static_cast<char*>(::operator new(64, kWide)); };
  const auto many = [=] { return static_cast<char*>(::operator new[](64, kWide)); };
  const std::vector<bool> seen{
      is_seen(new char, [](char* block) { delete block; }),
      is_seen(new char[64], [](char* block) { delete[] block; }),
      is_seen(static_cast<char*>(std::malloc(64)), [](char* block) { std::free(block); }),
      is_seen(static_cast<char*>(::operator new(64)),
              [](char* block) { ::operator delete(block, std::nothrow); }),
      is_seen(static_cast<char*>(::operator new[](64)),
              [](char* block) { ::operator delete[](block, std::nothrow); }),
      is_seen(aligned(), [](char* block) { ::operator delete(block, kWide); }),
      is_seen(aligned(), [](char* block) { ::operator delete(block, kWide, std::nothrow); }),
      is_seen(many(), [](char* block) { ::operator delete[](block, kWide); }),
      is_seen(many(), [](char* block) { ::operator delete[](block, 64, kWide); }),
      is_seen(many(), [](char* block) { ::operator delete[](block, kWide, std::nothrow); }),
      is_seen(reinterpret_cast<char*>(new Wide[2]),
              [](char* block) { delete[] reinterpret_cast<Wide*>(block); })};
  std::string missed;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (!seen[k]) missed += std::to_string(k) + " ";
  }
  return {missed, ""};
}

}  // namespace

std::vector<Case> memory_cases() {
  return {{"a captured double", captured_double},
          {"equal writes", equal_writes},
          {"an object of many bytes", large_object},
          {"own slots", own_slots},
          {"a constant table", constant_table},
          {"a value over a merge", value_over_merge},
          {"heap memory of each replica", own_heap},
          {"blocks that a replica ends", ended_blocks},
          {"a captured value that was not reduced", value_not_reduced},
          {"slots that a merge reads", slots_in_merge}};
}
