// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/call_site.h"
#include "belfry/sim/schedule.h"

#include <cstddef>
#include <string>
#include <vector>

namespace belfry::sim {

/// Makes the recorded choices again. From the first that does not fit what is asked, or when there
/// are none left, it answers 0 and remembers: choices are asked for on stacks that an exception
/// must not unwind, so whoever started the run throws afterwards (`throw_misfit`).
class ReplayedChooser final : public Chooser {
 public:
  explicit ReplayedChooser(std::vector<Choice> choices) : choices_(std::move(choices)) {}

  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override;
  bool misfit() const { return !misfit_.empty(); }
  /// Throws: InvalidArgumentError (kReplay) naming the first choice that did not fit, if one did
  /// not.
  void throw_misfit(CallSite site = {}) const;

 private:
  std::vector<Choice> choices_;
  std::size_t next_ = 0;
  std::string misfit_;
};

}  // namespace belfry::sim
