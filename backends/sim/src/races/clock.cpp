// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/clock.h"

namespace belfry::sim::races {

// The representation stands in clock.h. A clock that covers `other` stays unchanged; a covered
// clock becomes a copy of `other`, with a shared table. Two clocks with news on both sides are
// joined lane by lane.
void Clock::join(const Clock& other) {
  if (other.is_empty() || includes_end_of(other)) return;
  if (is_empty() || other.includes_end_of(*this)) {
    *this = other;
    return;
  }
  last_ = {};
  join_table(other.table_);
  for (std::size_t i = 0; i < other.pending_count_; ++i) raise(other.pending_[i]);
}

// Writes to a table of this clock alone in place. Beside a shared table up to kPending numbers are
// pending; the next number makes the clock copy the table.
void Clock::raise(const Happening& to) {
  for (std::size_t i = 0; i < pending_count_; ++i) {
    if (pending_[i].lane != to.lane) continue;
    pending_[i].number = std::max(pending_[i].number, to.number);
    return;
  }
  if (in_table(to.lane) >= to.number) return;
  if (!table_.is_alone()) {
    if (pending_count_ < kPending) {
      pending_[pending_count_++] = to;
      return;
    }
    move_pending_to_table();
  }
  writable_part(to.lane / kLanes).lanes[to.lane % kLanes] = to.number;
}

// Numbers only rise after a table is copied. A table therefore covers its origin, without a look at
// the numbers.
void Clock::join_table(const Ref<Table>& other) {
  if (other.get() == nullptr || other.get() == table_.get()) return;
  if (table_.get() == nullptr || other->origin.get() == table_.get()) return take_table(other);
  if (table_->origin.get() == other.get()) return;
  const Relation all = relation(*table_, *other);
  if (all.covers) return;
  if (all.is_covered) return take_table(other);
  join_parts(*other);
  move_pending_to_table();
}

void Clock::take_table(const Ref<Table>& other) {
  table_ = other;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending_count_; ++i) {
    if (in_table(pending_[i].lane) < pending_[i].number) pending_[kept++] = pending_[i];
  }
  pending_count_ = static_cast<std::uint32_t>(kept);
}

void Clock::join_parts(const Table& other) {
  Table& joined = writable_table();
  if (joined.parts.size() < other.parts.size()) joined.parts.resize(other.parts.size());
  for (std::size_t i = 0; i < other.parts.size(); ++i) {
    const Relation one = relation(joined.parts[i].get(), other.parts[i].get());
    if (one.covers) continue;
    if (one.is_covered) {
      joined.parts[i] = other.parts[i];
      continue;
    }
    Part& part = writable_part(i);
    for (std::size_t k = 0; k < kLanes; ++k) {
      part.lanes[k] = std::max(part.lanes[k], other.parts[i]->lanes[k]);
    }
  }
}

void Clock::move_pending_to_table() {
  for (std::size_t i = 0; i < pending_count_; ++i) {
    std::uint32_t& number =
        writable_part(pending_[i].lane / kLanes).lanes[pending_[i].lane % kLanes];
    number = std::max(number, pending_[i].number);
  }
  pending_count_ = 0;
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
// with the shared table as the origin. The shared table gives up its own origin: at most one older
// table stays in memory for each table.
Clock::Table& Clock::writable_table() {
  if (table_.is_alone()) return *table_;
  if (table_.get() == nullptr) {
    table_ = Ref(new Table);
  } else {
    table_->origin = {};
    table_ = Ref(new Table{.parts = table_->parts, .origin = table_});
  }
  return *table_;
}

Clock::Part& Clock::writable_part(std::size_t index) {
  Table& table = writable_table();
  if (index >= table.parts.size()) table.parts.resize(index + 1);
  Ref<Part>& part = table.parts[index];
  if (!part.is_alone()) {
    part = Ref(part.get() == nullptr ? new Part : new Part{.lanes = part->lanes});
  }
  return *part;
}

}  // namespace belfry::sim::races
