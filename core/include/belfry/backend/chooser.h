// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"

#include <cstdint>
#include <span>

namespace belfry {

/// The subject of a choice; recorded with each choice.
enum class ChoiceKind : std::uint8_t {
  kAgent,  ///< The runnable agent for the next step: replicas first, then streams.
  kWork,   ///< The amount of pending stream work to run now.
  kOrder,  ///< The order of a reduction of the simulated driver, among the orders of NCCL.
};

/// Makes every choice of a run. Equal states of a Chooser make equal choices. Must not throw:
/// choices are made on replicas' stacks.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// A number in [0, count). `count` is at least 1; choices with a count of 1 are not recorded.
  virtual std::uint32_t choose(ChoiceKind kind, std::uint32_t count) = 0;
  /// Whether choices of agents are made by `choose_among` in place of `choose`. The answer stays
  /// the same for the life of a Chooser.
  virtual bool wants_candidates() const { return false; }
  /// A choice of kind kAgent: a position in `candidates`, which are in the order in which `choose`
  /// counts: the replica, merge or host that asks, if it can go on; other replicas; streams. The
  /// default asks `choose`. If memory is out, `choose` is asked.
  virtual std::uint32_t choose_among(std::span<const AgentId> candidates) {
    return choose(ChoiceKind::kAgent, static_cast<std::uint32_t>(candidates.size()));
  }
};

}  // namespace belfry
