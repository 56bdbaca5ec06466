// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/clock.h"

#include <algorithm>
#include <cstddef>

namespace belfry::sim::races {

void Clock::set(Lane lane, std::uint32_t number) {
  std::vector<std::uint32_t>& numbers = own();
  if (lane >= numbers.size()) numbers.resize(std::size_t{lane} + 1);
  numbers[lane] = number;
}

void Clock::join(const Clock& other) {
  if (other.numbers_ == nullptr || other.numbers_ == numbers_) return;
  if (numbers_ == nullptr) {
    numbers_ = other.numbers_;
    return;
  }
  const std::vector<std::uint32_t>& theirs = *other.numbers_;
  std::size_t first = 0;
  while (first < theirs.size() && first < numbers_->size() && theirs[first] <= (*numbers_)[first]) {
    ++first;
  }
  if (first == theirs.size()) return;
  std::vector<std::uint32_t>& numbers = own();
  if (numbers.size() < theirs.size()) numbers.resize(theirs.size());
  for (std::size_t i = first; i < theirs.size(); ++i) numbers[i] = std::max(numbers[i], theirs[i]);
}

std::vector<std::uint32_t>& Clock::own() {
  if (numbers_ == nullptr) {
    numbers_ = std::make_shared<std::vector<std::uint32_t>>();
  } else if (numbers_.use_count() != 1) {
    numbers_ = std::make_shared<std::vector<std::uint32_t>>(*numbers_);
  }
  return *numbers_;
}

}  // namespace belfry::sim::races
