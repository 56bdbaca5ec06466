// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace belfry::sim {

/// The reverse of the serial schedule: streams before replicas, and of each the last in the order
/// of numbers. Any two replicas take their first steps in the other order than in the serial
/// schedule. Bodies of kernels run in the phase of their launch.
class ReverseChooser final : public Chooser {
 public:
  std::uint32_t choose(ChoiceKind, std::uint32_t count) override { return count - 1; }
  bool wants_candidates() const override { return true; }
  std::uint32_t choose_among(std::span<const AgentId> candidates) override {
    const auto last = std::ranges::max_element(candidates, {}, [](const AgentId& agent) {
      return std::pair(agent.kind == AgentId::Kind::kStream, agent.index);
    });
    return static_cast<std::uint32_t>(last - candidates.begin());
  }
};

}  // namespace belfry::sim
