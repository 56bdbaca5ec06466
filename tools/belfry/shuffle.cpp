// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "shuffle.h"

#include "belfry/error.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace belfry::demo {
namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio.

constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::uint64_t stream)
    : key_(mixed(seed + kOdd) ^ mixed(~stream)) {}

std::uint64_t CounterRandom::next() { return mixed(key_ + ++counter_ * kOdd); }

std::uint64_t CounterRandom::below(std::uint64_t count) {
  // The largest multiple of count that fits; larger draws would favour small values.
  const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % count;
  std::uint64_t draw = next();
  while (draw >= limit) draw = next();
  return draw % count;
}

std::vector<int> shuffled(int count, std::uint64_t seed, std::uint64_t stream) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  CounterRandom random(seed, stream);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

Split split(int count, std::uint64_t seed) {
  const int held_out = count / 5;
  if (held_out == 0) {
    throw InvalidArgumentError(ErrorCode::kFileFormat,
                               fmt::format("{} images are too few to train and to judge by", count),
                               "five are the least");
  }
  const std::vector<int> order = shuffled(count, seed, 0);
  return {{order.begin(), order.end() - held_out}, {order.end() - held_out, order.end()}};
}

}  // namespace belfry::demo
