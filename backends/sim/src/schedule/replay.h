// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/schedule.h"

#include <cstddef>
#include <vector>

namespace belfry::sim {

/// Recorded choices, and the number replayed. From the first unfit choice or the end of the record
/// on, the answer is 0, and the misfit is recorded. Choices are asked for on stacks that an
/// exception must not unwind, and possibly without memory: the caller that started the run throws
/// afterwards.
class Replay {
 public:
  explicit Replay(std::vector<Choice> choices) : choices_(std::move(choices)) {}

  /// Whether a choice is left, or a choice was unfit.
  bool lasts() const { return misfit_ || next_ < choices_.size(); }
  std::uint32_t next(ChoiceKind kind, std::uint32_t count);
  /// Throws: InvalidArgumentError (kReplay) naming the first unfit choice, if any.
  void throw_misfit(CallSite site = {}) const;

 private:
  std::vector<Choice> choices_;
  std::size_t next_ = 0;
  bool misfit_ = false;
  Choice asked_{};  // What did not fit; there is no answer in it.
};

}  // namespace belfry::sim
