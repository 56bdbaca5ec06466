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

#ifdef __x86_64__
#include <immintrin.h>
#endif

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

// Compilers keep each number in 3, 5, 6 or 7 bytes, and the letter in the next byte.
template <int kBytes>
struct Field {
  unsigned long number : 8 * kBytes - 2;
  char letter;
};
struct Few {
  unsigned number : 20;
  char letter;
};

template <class Fields>
bool sees_fields() {
  Fields shared{};
  const Body both_write = [&](std::size_t id, int) { shared.number = id & 1; };
  const Body one_reads = [&](std::size_t id, int) {
    if (id == 0) shared.number = 1;
    if (id == 1) shared.letter = static_cast<char>(shared.number);
  };
  const Body letters = [&](std::size_t id, int) {
    if (id == 0) shared.number = 1;
    if (id == 1) shared.letter = 'a';
  };
  return !watched(1, both_write).conflicts.empty() && !watched(1, one_reads).conflicts.empty() &&
         watched(1, letters).conflicts.empty();
}

Row bit_fields() {
  std::string missed;
  if (!sees_fields<Few>()) missed += "20 bits ";
  if (!sees_fields<Field<3>>()) missed += "3 ";
  if (!sees_fields<Field<5>>()) missed += "5 ";
  if (!sees_fields<Field<6>>()) missed += "6 ";
  if (!sees_fields<Field<7>>()) missed += "7 ";
  return {missed, ""};
}

Row long_number() {
  long double shared = 0;
  const Body body = [&](std::size_t id, int) { shared = static_cast<long double>(id); };
  return {text(watched(1, body)), writes_on(__LINE__ - 1, " write")};
}

// Sums with a carry: each function writes the sum to memory.
Row carries() {
  std::string missed;
#ifdef __x86_64__
  unsigned int small = 0;
  unsigned long long large = 0;
  std::vector<unsigned char> got(2);
  const auto expect = [&](const char* name, auto function, auto& shared) {
    const Body body = [&](std::size_t id, int) { got[id] = function(1, ~0U, 1, &shared); };
    if (watched(1, body).conflicts.empty() || shared != decltype(small)(1)) missed += name;
  };
  const auto add32 = [](unsigned char carry, unsigned a, unsigned b, unsigned* sum) {
    return _addcarry_u32(carry, a, b, sum);
  };
  const auto take32 = [](unsigned char carry, unsigned a, unsigned b, unsigned* sum) {
    return _subborrow_u32(carry, b + 1, a + 1, sum);
  };
  const auto add64 = [](unsigned char carry, unsigned a, unsigned b, unsigned long long* sum) {
    return _addcarry_u64(carry, ~0ULL - a + a, b, sum);
  };
  const auto take64 = [](unsigned char carry, unsigned, unsigned b, unsigned long long* sum) {
    return _subborrow_u64(carry, b + 1, 0, sum);
  };
  expect("add32 ", add32, small);
  expect("take32 ", take32, small);
  expect("add64 ", add64, large);
  expect("take64 ", take64, large);
#endif
  return {missed, ""};
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
          {"bit-fields in unusual numbers of bytes", bit_fields},
          {"a long double", long_number},
          {"sums with a carry", carries},
          {"own slots", own_slots},
          {"a constant table", constant_table},
          {"a value over a merge", value_over_merge},
          {"heap memory of each replica", own_heap},
          {"blocks that a replica ends", ended_blocks},
          {"a captured value that was not reduced", value_not_reduced},
          {"slots that a merge reads", slots_in_merge}};
}
