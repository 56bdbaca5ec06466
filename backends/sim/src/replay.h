// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/schedule.h"

#include <cstddef>
#include <vector>

namespace belfry::sim {

/// Recorded choices, and how far they have been made again. From the first that does not fit what
/// is asked, or when there are none left, the answer is 0 and that is remembered: choices are asked
/// for on stacks that an exception must not unwind, and where memory may be out, so whoever started
/// the run throws afterwards.
class Replay {
 public:
  explicit Replay(std::vector<Choice> choices) : choices_(std::move(choices)) {}

  /// Whether a choice is left, or one did not fit.
  bool lasts() const { return misfit_ || next_ < choices_.size(); }
  std::uint32_t next(ChoiceKind kind, std::uint32_t count);
  /// Throws: InvalidArgumentError (kReplay) naming the first choice that did not fit, if one did
  /// not.
  void throw_misfit(CallSite site = {}) const;

 private:
  std::vector<Choice> choices_;
  std::size_t next_ = 0;
  bool misfit_ = false;
  Choice asked_{};  // What did not fit; there is no answer in it.
};

}  // namespace belfry::sim
