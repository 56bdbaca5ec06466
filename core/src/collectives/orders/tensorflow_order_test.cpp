// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Bits that TensorFlow's all_reduce gave, of which the order is found (SEM-148).
#include "belfry/addition_order.h"
#include "belfry/testing/asserts.h"
#include "collectives/orders/reductions_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace belfry::tensorflow_order_test {
namespace {

using ::testing::Contains;
using ::testing::Not;

using Rows = std::vector<std::vector<float>>;

// The inputs that the head of the file states.
Rows inputs_of(std::size_t members, std::size_t elements) {
  Rows rows(members);
  for (std::size_t r = 0; r < members; ++r) {
    for (std::size_t i = 0; i < elements; ++i) {
      const auto m = static_cast<int>((r * 7919 + i * 104729 + 12345) % 200003) - 100001;
      const auto e = static_cast<int>((r * 31 + i * 17) % 23) - 28;
      rows[r].push_back(std::ldexp(static_cast<float>(m), e));
    }
  }
  return rows;
}

std::uint64_t fnv(const std::vector<float>& values) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xffU)) * 0x100000001b3U;
    }
  }
  return hash;
}

// A ring whose chunk c begins at member c; written without the functions of belfry.
std::vector<float> sums_by_hand(const Rows& rows) {
  const std::size_t members = rows.size();
  const std::size_t elements = rows.front().size();
  const std::size_t bytes = 4 * ((elements + members - 1) / members);
  const std::size_t length = 64 * (bytes / 64 + 1) / 4;
  std::vector<float> sums;
  for (std::size_t i = 0; i < elements; ++i) {
    float sum = rows[i / length][i];
    for (std::size_t k = 1; k < members; ++k) sum += rows[(i / length + k) % members][i];
    sums.push_back(sum);
  }
  return sums;
}

// The same ring of 16-bit floats, each sum rounded to the type. A chunk has at least one element
// more than its share, and as many as end the cache line.
template <class T>
std::vector<T> halves_by_hand(const testing::Table<T>& rows) {
  const std::size_t members = rows.size();
  const std::size_t elements = rows.front().size();
  std::size_t length = (elements + members - 1) / members + 1;
  while (2 * length % 64 != 0) ++length;
  std::vector<T> sums;
  for (std::size_t i = 0; i < elements; ++i) {
    T sum = rows[i / length][i];
    for (std::size_t k = 1; k < members; ++k) {
      const T& next = rows[(i / length + k) % members][i];
      sum = T(static_cast<float>(sum) + static_cast<float>(next));
    }
    sums.push_back(sum);
  }
  return sums;
}

NamedOrder tensorflow_order_of_halves() {
  NamedOrder order = tensorflow_order();
  order.rounding = SumRounding::kEachAddition;
  return order;
}

template <class T>
void expect_halves_are_explained() {
  const NamedOrder order = tensorflow_order_of_halves();
  for (const std::size_t members : {2U, 3U, 4U, 7U, 8U}) {
    for (const std::size_t elements : {1U, 31U, 32U, 33U, 64U, 127U, 128U, 129U, 500U}) {
      SCOPED_TRACE(std::to_string(members) + " members, " + std::to_string(elements));
      const auto inputs = testing::random_inputs<T>(members, elements, members + elements);
      const std::vector<T> sums = halves_by_hand(inputs);
      EXPECT_TRUE(explains(order, inputs, sums));
      // MEAN of the older system divides a sum that is a 16-bit float.
      std::vector<T> means;
      for (const T sum : sums) {
        means.push_back(T(static_cast<float>(sum) / static_cast<float>(members)));
      }
      EXPECT_TRUE(explains(order, inputs, means, OrderOp::kMean));
    }
  }
  // 4 members, 128 elements: a share of 32 fills a line of 64 bytes, and chunks have 64.
  const auto inputs = testing::random_inputs<T>(4, 128, 1);
  const std::vector<T> sums = halves_by_hand(inputs);
  const std::vector<NamedOrder> answer = orders_that_explain(inputs, sums);
  EXPECT_THAT(answer, Contains(order));
  EXPECT_THAT(answer, Not(Contains(tensorflow_order())));
  EXPECT_THAT(
      answer,
      Not(Contains(NamedOrder{.kind = OrderKind::kRing, .rounding = SumRounding::kEachAddition})));
}

struct Golden {
  std::size_t members = 0;
  std::size_t elements = 0;
  std::vector<float> bits{};  // Empty if the file has a hash.
  std::uint64_t hash = 0;
};

std::vector<Golden> golden_results() {
  std::ifstream file(BELFRY_GOLDEN_BITS);
  std::vector<Golden> all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    Golden golden;
    words >> golden.members >> golden.elements;
    for (std::string word; words >> word;) {
      if (word == "fnv") {
        words >> std::hex >> golden.hash;
        continue;
      }
      const auto bits = static_cast<std::uint32_t>(std::stoul(word, nullptr, 16));
      golden.bits.push_back(std::bit_cast<float>(bits));
    }
    all.push_back(golden);
  }
  return all;
}

TEST(TensorFlow, AddsInARingOfCacheLines) {
  testing::asserts("SEM-148");
  const std::vector<Golden> all = golden_results();
  ASSERT_EQ(all.size(), 60U);
  for (const Golden& golden : all) {
    SCOPED_TRACE(std::to_string(golden.members) + " members, " + std::to_string(golden.elements));
    const Rows inputs = inputs_of(golden.members, golden.elements);
    const std::vector<float> result = golden.bits.empty() ? sums_by_hand(inputs) : golden.bits;
    ASSERT_EQ(result.size(), golden.elements);
    if (golden.bits.empty()) {
      ASSERT_EQ(fnv(result), golden.hash);
    }
    EXPECT_TRUE(explains(tensorflow_order(), inputs, result));
    EXPECT_THAT(orders_that_explain(inputs, result), Contains(tensorflow_order()));
  }
}

TEST(TensorFlow, AddsHalvesInARingOfCacheLines) {
  testing::asserts("SEM-148");
  expect_halves_are_explained<Float16>();
  expect_halves_are_explained<BFloat16>();
}

TEST(TensorFlow, IsToldFromAPlainRing) {
  testing::asserts("SEM-148");
  for (const Golden& golden : golden_results()) {
    if (golden.members != 4 || golden.elements != 80) continue;
    // Chunks of 32 floats, where a plain ring has chunks of 20.
    EXPECT_FALSE(explains(NamedOrder{.kind = OrderKind::kRing},
                          inputs_of(golden.members, golden.elements), golden.bits));
    return;
  }
  FAIL() << "the file has no such line";
}

}  // namespace
}  // namespace belfry::tensorflow_order_test
