// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace belfry::sim {

/// The serial schedule with some agents delayed: a delayed agent takes a step only if no further
/// agent can. Reverses a race whose first access needs a step of a delayed agent.
class DelayingChooser final : public Chooser {
 public:
  explicit DelayingChooser(std::vector<AgentId> delayed) : delayed_(std::move(delayed)) {}

  std::uint32_t choose(ChoiceKind, std::uint32_t) override { return 0; }
  bool wants_candidates() const override { return true; }
  std::uint32_t choose_among(std::span<const AgentId> candidates) override {
    const auto free = std::ranges::find_if(candidates, [&](const AgentId& agent) {
      return std::ranges::find(delayed_, agent) == delayed_.end();
    });
    return free == candidates.end() ? 0 : static_cast<std::uint32_t>(free - candidates.begin());
  }

 private:
  std::vector<AgentId> delayed_;
};

}  // namespace belfry::sim
