// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/readers.h"

#include "belfry/backend/random_numbers.h"
#include "belfry/error.h"

#include <numeric>
#include <string>

namespace belfry::detail {
namespace {

// Separates shuffling from other uses of the same seed.
constexpr std::uint32_t kPurpose = 0x5ff1e000U;

// 64 random bits by number.
std::uint64_t draw(std::uint64_t seed, std::uint64_t epoch, std::uint64_t number) {
  const element::RandomBlock block =
      element::random_block(seed ^ (epoch * 0x9e3779b97f4a7c15U), number, kPurpose);
  return element::detail::wide_word(block, 0);
}

[[noreturn]] void refuse(const std::string& what, const char* hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
}

}  // namespace

void require_at_least(std::int64_t least, std::int64_t value, const char* what, CallSite site) {
  if (value >= least) return;
  refuse(std::string(what) + " is " + std::to_string(value),
         least == 0 ? "it cannot be negative" : "it must be positive", site);
}

void require_shard(std::int64_t count, std::int64_t index, CallSite site) {
  require_at_least(1, count, "the number of shards or workers", site);
  if (index >= 0 && index < count) return;
  refuse("there is no number " + std::to_string(index) + " of " + std::to_string(count),
         "shards and workers are numbered from 0", site);
}

void require_sizes(const std::vector<std::int64_t>& sizes, CallSite site) {
  for (const std::int64_t size : sizes) require_at_least(0, size, "the size of a batch", site);
  for (const std::int64_t size : sizes) {
    if (size > 0) return;
  }
  refuse("no size of rebatch is positive", "give at least one size above 0", site);
}

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return text;
}

void throw_endless(const char* what, CallSite site) {
  refuse(std::string(what) + " of a dataset without end",
         "call it before repeat(), or take(n) elements first", site);
}

std::vector<std::size_t> permutation(std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t number = 0;
  for (std::uint64_t left = count; left > 1; --left) {
    // Draws beyond the largest multiple of `left` would favour small values.
    const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % left;
    std::uint64_t drawn = draw(seed, epoch, number++);
    while (drawn >= limit) drawn = draw(seed, epoch, number++);
    std::swap(order[left - 1], order[drawn % left]);
  }
  return order;
}

}  // namespace belfry::detail
