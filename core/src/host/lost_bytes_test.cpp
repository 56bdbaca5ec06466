// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host/lost_bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <exception>
#include <random>
#include <utility>

namespace belfry::host::lost_bytes_test {
namespace {

constexpr std::size_t kBytes = 12;

// Keeps the reason of each byte.
class EachByte {
 public:
  // The time tells the latest of several reasons.
  void lose(std::size_t begin, std::size_t end, std::exception_ptr reason) {
    ++time_;
    for (std::size_t i = begin; i < end; ++i) bytes_[i] = {time_, reason};
  }
  void restore(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) bytes_[i] = {};
  }
  std::exception_ptr reason(std::size_t begin, std::size_t end) const {
    std::pair<int, std::exception_ptr> latest;
    for (std::size_t i = begin; i < end; ++i) {
      if (bytes_[i].first > latest.first) latest = bytes_[i];
    }
    return latest.second;
  }

 private:
  int time_ = 0;
  std::array<std::pair<int, std::exception_ptr>, kBytes> bytes_{};
};

void lose(LostBytes& bytes, std::size_t begin, std::size_t end, const std::exception_ptr& reason) {
  LostBytes::Room room(1);
  bytes.lose(begin, end, reason, room);
}

// Losses and restorations in any order against a table with an entry for each byte.
TEST(LostBytes, AreTheSameAsATableOfEachByte) {
  std::mt19937 random(1);
  const auto draw = [&](std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most)(random);
  };
  for (int program = 0; program < 200; ++program) {
    LostBytes bytes;
    EachByte table;
    for (int step = 0; step < 12; ++step) {
      const std::size_t begin = draw(kBytes);
      const std::size_t end = begin + draw(kBytes - begin);
      if (draw(1) == 0) {
        const auto reason = std::make_exception_ptr(step);
        lose(bytes, begin, end, reason);
        table.lose(begin, end, reason);
      } else {
        bytes.restore(begin, end);
        table.restore(begin, end);
      }
      for (std::size_t from = 0; from <= kBytes; ++from) {
        for (std::size_t to = from; to <= kBytes; ++to) {
          ASSERT_EQ(bytes.reason(from, to), table.reason(from, to)) << from << " to " << to;
        }
      }
    }
  }
}

}  // namespace
}  // namespace belfry::host::lost_bytes_test
