// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/clock.h"

#include <algorithm>

namespace belfry::sim::races {

// A clock that covers the second clock stays, and a clock that is covered becomes a copy: both
// share all parts then, and a later join finds equal parts.
void Clock::join(const Clock& other) {
  if (other.numbers_.get() == nullptr || other.numbers_.get() == numbers_.get()) return;
  if (numbers_.get() == nullptr) {
    numbers_ = other.numbers_;
    return;
  }
  Relation all;
  const std::size_t count = std::max(numbers_->parts.size(), other.numbers_->parts.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Relation one = relation(part_of(*numbers_, i), part_of(*other.numbers_, i));
    all.covers &= one.covers;
    all.is_covered &= one.is_covered;
  }
  if (all.covers) return;
  if (all.is_covered) {
    numbers_ = other.numbers_;
  } else {
    join_parts(*other.numbers_);
  }
}

void Clock::join_parts(const Numbers& other) {
  Numbers& own = own_numbers();
  if (own.parts.size() < other.parts.size()) own.parts.resize(other.parts.size());
  for (std::size_t i = 0; i < other.parts.size(); ++i) {
    const Relation one = relation(own.parts[i].get(), other.parts[i].get());
    if (one.covers) continue;
    if (one.is_covered) {
      own.parts[i] = other.parts[i];
      continue;
    }
    Part& part = own_part(i);
    for (std::size_t k = 0; k < kLanes; ++k) {
      part.lanes[k] = std::max(part.lanes[k], other.parts[i]->lanes[k]);
    }
  }
}

Clock::Relation Clock::relation(const Part* first, const Part* second) {
  if (first == second) return {};
  if (first == nullptr) return {.covers = false, .is_covered = true};
  if (second == nullptr) return {.covers = true, .is_covered = false};
  std::uint32_t below = 0, above = 0;
  for (std::size_t k = 0; k < kLanes; ++k) {
    below |= static_cast<std::uint32_t>(first->lanes[k] < second->lanes[k]);
    above |= static_cast<std::uint32_t>(first->lanes[k] > second->lanes[k]);
  }
  return {.covers = below == 0, .is_covered = above == 0};
}

Clock::Numbers& Clock::own_numbers() {
  if (!numbers_.is_alone()) {
    numbers_ = Ref(numbers_.get() == nullptr ? new Numbers : new Numbers{.parts = numbers_->parts});
  }
  return *numbers_;
}

Clock::Part& Clock::own_part(std::size_t index) {
  Numbers& own = own_numbers();
  if (index >= own.parts.size()) own.parts.resize(index + 1);
  Ref<Part>& part = own.parts[index];
  if (!part.is_alone()) {
    part = Ref(part.get() == nullptr ? new Part : new Part{.lanes = part->lanes});
  }
  return *part;
}

}  // namespace belfry::sim::races
