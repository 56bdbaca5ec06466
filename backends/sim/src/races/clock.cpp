// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/clock.h"

namespace belfry::sim::races {

// A clock that covers the other stays as it is, and a covered clock becomes a copy, which shares
// the table. Only two clocks with news on both sides are joined lane by lane.
void Clock::join(const Clock& other) {
  if (other.is_empty() || has_last_of(other)) return;
  if (is_empty() || other.has_last_of(*this)) {
    *this = other;
    return;
  }
  last_ = {};
  join_table(other.table_);
  for (std::size_t i = 0; i < other.own_count_; ++i) raise(other.own_[i]);
}

// Changes a table of this clock alone in place; beside a shared table, keeps up to kOwn numbers.
void Clock::raise(const Happening& to) {
  for (std::size_t i = 0; i < own_count_; ++i) {
    if (own_[i].lane != to.lane) continue;
    own_[i].number = std::max(own_[i].number, to.number);
    return;
  }
  if (in_table(to.lane) >= to.number) return;
  if (!table_.is_alone()) {
    if (own_count_ < kOwn) {
      own_[own_count_++] = to;
      return;
    }
    move_own_to_table();
  }
  own_part(to.lane / kLanes).lanes[to.lane % kLanes] = to.number;
}

void Clock::join_table(const Ref<Table>& other) {
  if (other.get() == nullptr || other.get() == table_.get()) return;
  if (table_.get() == nullptr || other->origin.get() == table_.get()) return take_table(other);
  if (table_->origin.get() == other.get()) return;
  const Relation all = relation(*table_, *other);
  if (all.covers) return;
  if (all.is_covered) return take_table(other);
  join_parts(*other);
  move_own_to_table();
}

void Clock::take_table(const Ref<Table>& other) {
  table_ = other;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < own_count_; ++i) {
    if (in_table(own_[i].lane) < own_[i].number) own_[kept++] = own_[i];
  }
  own_count_ = static_cast<std::uint32_t>(kept);
}

void Clock::join_parts(const Table& other) {
  Table& own = own_table();
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

void Clock::move_own_to_table() {
  for (std::size_t i = 0; i < own_count_; ++i) {
    std::uint32_t& number = own_part(own_[i].lane / kLanes).lanes[own_[i].lane % kLanes];
    number = std::max(number, own_[i].number);
  }
  own_count_ = 0;
}

Clock::Relation Clock::relation(const Table& first, const Table& second) {
  Relation all;
  const std::size_t count = std::max(first.parts.size(), second.parts.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Relation one = relation(part_of(first, i), part_of(second, i));
    all.covers &= one.covers;
    all.is_covered &= one.is_covered;
    if (!all.covers && !all.is_covered) break;
  }
  return all;
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

// Returns a table of this clock alone, to be changed: its table if no copy shares it, else a copy
// with the shared table as the origin. The shared table gives up its own origin; otherwise the
// tables of all earlier phases would stay in memory, each as the origin of the next.
Clock::Table& Clock::own_table() {
  if (table_.is_alone()) return *table_;
  if (table_.get() == nullptr) {
    table_ = Ref(new Table);
  } else {
    table_->origin = {};
    table_ = Ref(new Table{.parts = table_->parts, .origin = table_});
  }
  return *table_;
}

Clock::Part& Clock::own_part(std::size_t index) {
  Table& own = own_table();
  if (index >= own.parts.size()) own.parts.resize(index + 1);
  Ref<Part>& part = own.parts[index];
  if (!part.is_alone()) {
    part = Ref(part.get() == nullptr ? new Part : new Part{.lanes = part->lanes});
  }
  return *part;
}

}  // namespace belfry::sim::races
