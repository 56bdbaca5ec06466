// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/clock.h"

#include "testing/drawn_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace belfry::sim::races::clock_test {
namespace {

using testing::DrawnNumbers;

constexpr Lane kLanes = 100;  // More than the lanes of three parts of a table.

// A clock, and the same numbers in an array: the second implementation.
struct Both {
  Clock clock{};
  std::array<std::uint32_t, kLanes> numbers{};

  void join(const Both& other) {
    clock.join(other.clock);
    for (Lane lane = 0; lane < kLanes; ++lane) raise(lane, other.numbers[lane]);
  }
  void raise(Lane lane, std::uint32_t number) { numbers[lane] = std::max(numbers[lane], number); }
  bool agree() const {
    for (Lane lane = 0; lane < kLanes; ++lane) {
      if (clock.at(lane) != numbers[lane]) return false;
    }
    return true;
  }
};

// A program of lanes. Each happening comes after the earlier happenings of its lane, and after
// everything in the joined clocks.
class Program {
 public:
  // A happening in `lane`, after the latest happenings of `others`, and after everything collected.
  void happen(Lane lane, const std::vector<Lane>& others, bool after_collected) {
    Both now = std::exchange(latest_[lane], {});
    for (const Lane other : others) now.join(latest_[other]);
    if (after_collected) now.join(collected_);
    const std::uint32_t number = ++counts_[lane];
    now.clock.add(lane, number);
    now.raise(lane, number);
    now.clock.end_at({lane, number});
    latest_[lane] = std::move(now);
  }
  // A happening in all lanes at once.
  void meet(const std::vector<Lane>& lanes) {
    Both all;
    for (const Lane lane : lanes) all.join(latest_[lane]);
    for (const Lane lane : lanes) {
      const std::uint32_t number = ++counts_[lane];
      all.clock.add(lane, number);
      all.raise(lane, number);
    }
    all.clock.end_at({lanes.front(), counts_[lanes.front()]});
    for (const Lane lane : lanes) latest_[lane] = all;
  }
  // A clock without a last happening.
  void collect(Lane lane) { collected_.join(latest_[lane]); }

  bool agree() const {
    return collected_.agree() &&
           std::ranges::all_of(latest_, [](const Both& both) { return both.agree(); });
  }

 private:
  std::vector<Both> latest_ = std::vector<Both>(kLanes);
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(kLanes);
  Both collected_;
};

std::vector<Lane> lanes(DrawnNumbers& numbers, std::size_t most) {
  std::set<Lane> drawn;
  const std::size_t count = 1 + numbers.below(most);
  for (std::size_t i = 0; i < count; ++i) drawn.insert(static_cast<Lane>(numbers.below(kLanes)));
  return {drawn.begin(), drawn.end()};
}

void take_step(Program& program, DrawnNumbers& numbers) {
  const auto lane = static_cast<Lane>(numbers.below(kLanes));
  switch (numbers.below(8)) {
    case 0:
      return program.meet(lanes(numbers, kLanes));
    case 1:
      return program.collect(lane);
    case 2:
      return program.happen(lane, lanes(numbers, 3), true);
    default:
      return program.happen(lane, lanes(numbers, 3), false);
  }
}

TEST(AClock, HasTheNumbersOfAnArrayOfLanes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    DrawnNumbers numbers(seed);
    Program program;
    const std::size_t steps = numbers.below(120);
    for (std::size_t i = 0; i < steps; ++i) take_step(program, numbers);
    ASSERT_TRUE(program.agree()) << "seed " << seed;
  }
}

// A step that nothing ends at says nothing about the steps of other lanes.
TEST(AClock, JoinsClocksWithoutALastHappeningLaneByLane) {
  Clock a, b;
  a.add(0, 1);
  a.add(40, 7);
  b.add(0, 1);
  b.add(80, 3);
  a.join(b);
  EXPECT_EQ(a.at(0), 1U);
  EXPECT_EQ(a.at(40), 7U);
  EXPECT_EQ(a.at(80), 3U);
}

// More numbers than a clock keeps beside its table.
TEST(AClock, LeavesCopiesAlone) {
  Clock first;
  for (Lane lane = 0; lane < 64; ++lane) first.add(lane, 1);
  Clock second = first;
  for (Lane lane = 0; lane < 64; ++lane) second.add(lane, lane + 2);
  const Clock third = second;
  second.join(first);
  for (Lane lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(first.at(lane), 1U);
    EXPECT_EQ(second.at(lane), lane + 2);
    EXPECT_EQ(third.at(lane), lane + 2);
  }
}

}  // namespace
}  // namespace belfry::sim::races::clock_test
