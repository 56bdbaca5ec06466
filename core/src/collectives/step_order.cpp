// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/step_order.h"

#include <algorithm>
#include <utility>

namespace belfry::detail {

StepOrder::StepOrder(int members, int chunks)
    : members_(static_cast<std::size_t>(members)),
      chunks_each_(static_cast<std::size_t>(chunks)),
      chunks_(members_ * chunks_each_),
      known_(members_ * members_, 0) {}

void StepOrder::begin_step() {
  step_ += 1;
  before_ = known_;
}

void StepOrder::read(int reader, int member, int index) {
  if (reader == member) return;
  Chunk& of = chunk(member, index);
  if (!is_known(reader, member, of.written)) reads_.emplace_back(reader, member);
  of.readers.emplace_back(reader, step_);
}

void StepOrder::write(int member, int index) {
  Chunk& own = chunk(member, index);
  for (const auto& [reader, step] : own.readers) overwrites_.push_back({member, reader, step});
  own.readers.clear();
  own.written = step_;
}

// The waits for the reads of a member often show that the chunk of the member has been read.
StepOrder::Waits StepOrder::end_step() {
  Waits waits = std::exchange(reads_, {});
  learn(waits);
  Waits more;
  for (const auto& [member, reader, step] : overwrites_) {
    if (!is_known(member, reader, step)) more.emplace_back(member, reader);
  }
  overwrites_.clear();
  learn(more);
  waits.insert(waits.end(), more.begin(), more.end());
  std::ranges::sort(waits);
  return waits;
}

StepOrder::Waits StepOrder::last_waits() {
  begin_step();
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const int member = static_cast<int>(i / chunks_each_);
    for (const auto& [reader, step] : chunks_[i].readers) {
      overwrites_.push_back({member, reader, step});
    }
  }
  return end_step();
}

// All members record before any member waits: a wait passes on the knowledge of the other from
// before the step.
void StepOrder::learn(Waits& waits) {
  std::ranges::sort(waits);
  const auto doubles = std::ranges::unique(waits);
  waits.erase(doubles.begin(), doubles.end());
  for (const auto& [member, other] : waits) {
    for (std::size_t k = 0; k < members_; ++k) {
      std::int32_t& known = known_[static_cast<std::size_t>(member) * members_ + k];
      known = std::max(known, before_[static_cast<std::size_t>(other) * members_ + k]);
    }
    known_[at(member, other)] = step_;
  }
}

}  // namespace belfry::detail
