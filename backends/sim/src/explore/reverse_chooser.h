// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace belfry::sim {

/// The reverse of the serial schedule: streams before replicas, and of the replicas the highest one
/// that can go on. Bodies of kernels run in the phase of their launch.
class ReverseChooser final : public Chooser {
 public:
  /// The most stream work.
  std::uint32_t choose(ChoiceKind, std::uint32_t count) override { return count - 1; }
  // The number of candidates does not tell: a replica that can go on stands before all others.
  bool wants_candidates() const override { return true; }
  std::uint32_t choose_among(std::span<const AgentId> candidates) override {
    const auto last = static_cast<std::uint32_t>(candidates.size()) - 1;
    if (candidates[last].kind == AgentId::Kind::kStream) return last;
    const auto highest = std::ranges::max_element(candidates, {}, &AgentId::index);
    return static_cast<std::uint32_t>(highest - candidates.begin());
  }
};

}  // namespace belfry::sim
