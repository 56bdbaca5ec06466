// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace belfry::sim::testing {

/// Makes the choices of every schedule of a program, schedule by schedule, the last choice first.
class AllSchedules final : public Chooser {
 public:
  std::uint32_t choose(ChoiceKind, std::uint32_t count) override {
    if (next_ == choices_.size()) choices_.push_back({0, count});
    return choices_[next_++].value;
  }

  /// Turns to the next schedule; false if there is none.
  bool next() {
    choices_.resize(next_);  // A shorter schedule has fewer choices.
    next_ = 0;
    while (!choices_.empty() && choices_.back().value + 1 == choices_.back().count) {
      choices_.pop_back();
    }
    if (choices_.empty()) return false;
    ++choices_.back().value;
    return true;
  }

 private:
  struct Made {
    std::uint32_t value = 0;
    std::uint32_t count = 1;
  };
  std::vector<Made> choices_;
  std::size_t next_ = 0;
};

}  // namespace belfry::sim::testing
