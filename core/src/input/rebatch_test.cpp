// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-93: where a rebatched dataset ends, with sizes of 0 among its sizes.
#include "belfry/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace belfry::rebatch_test {
namespace {

using Ints = std::vector<int>;
using Sizes = std::vector<std::int64_t>;

// The numbers from 0 on in batches of `size`, and a batch without rows after each.
Dataset<Ints> batches_of(int rows, int size) {
  std::vector<Ints> batches;
  for (int begin = 0; begin < rows; begin += size) {
    Ints batch(static_cast<std::size_t>(std::min(size, rows - begin)));
    std::iota(batch.begin(), batch.end(), begin);
    batches.push_back(std::move(batch));
    batches.emplace_back();
  }
  return Dataset<Ints>::from(std::move(batches));
}

std::vector<Ints> rebatched(int rows, int size, const Sizes& sizes, Remainder remainder) {
  std::vector<Ints> batches;
  for (const Ints& batch : batches_of(rows, size).rebatch(sizes, remainder)) {
    batches.push_back(batch);
  }
  return batches;
}

// The rule, size by size, applied to a count of rows.
std::vector<Ints> expected(int rows, const Sizes& sizes, Remainder remainder) {
  std::vector<Ints> batches;
  if (rows == 0) return batches;  // No batch gives an empty one its structure.
  int begin = 0;
  for (std::size_t turn = 0;; ++turn) {
    const int size = static_cast<int>(sizes[turn % sizes.size()]);
    if (size == 0) {
      batches.emplace_back();
      continue;
    }
    const bool is_short = rows - begin < size;
    Ints batch(static_cast<std::size_t>(is_short ? rows - begin : size));
    std::iota(batch.begin(), batch.end(), begin);
    begin += size;
    if (is_short && (batch.empty() || remainder == Remainder::kDrop)) return batches;
    batches.push_back(std::move(batch));
    if (is_short) return batches;
  }
}

std::string text(int rows, int size, const Sizes& sizes, Remainder remainder) {
  std::string sizes_text;
  for (const std::int64_t each : sizes) sizes_text += " " + std::to_string(each);
  return std::to_string(rows) + " rows in batches of " + std::to_string(size) + " to" + sizes_text +
         (remainder == Remainder::kDrop ? ", drop" : ", keep");
}

// Every list of at most three sizes from 0 to 3 with a positive size.
std::vector<Sizes> small_lists() {
  std::vector<Sizes> lists;
  for (int number = 0; number < 64; ++number) {
    const Sizes all{number / 16, number / 4 % 4, number % 4};
    for (std::ptrdiff_t length = 1; length <= 3; ++length) {
      const Sizes list(all.begin(), all.begin() + length);
      const bool is_seen = number % (1 << (2 * (3 - length))) != 0;
      if (!is_seen && std::accumulate(list.begin(), list.end(), std::int64_t{0}) > 0) {
        lists.push_back(list);
      }
    }
  }
  return lists;
}

TEST(Rebatching, EndsAsTheRuleSaysForAllSmallListsOfSizes) {
  const std::vector<Sizes> lists = small_lists();
  ASSERT_EQ(lists.size(), 3U + 15U + 63U);
  for (const Sizes& sizes : lists) {
    for (int rows = 0; rows <= 8; ++rows) {
      for (const int size : {1, 2, 3, 8}) {
        for (const Remainder remainder : {Remainder::kKeep, Remainder::kDrop}) {
          ASSERT_EQ(rebatched(rows, size, sizes, remainder), expected(rows, sizes, remainder))
              << text(rows, size, sizes, remainder);
        }
      }
    }
  }
}

}  // namespace
}  // namespace belfry::rebatch_test
