// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actor_numbers.h"
#include "belfry/sim/log.h"
#include "belfry/sim/observer.h"
#include "numbered_values.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// The steps of each host agent of a run, in the agent's own order, with digests of the data of its
/// device work. Two schedules of a certified program have equal steps: names of streams, which
/// depend on the order of all agents, are left out.
class AgentSteps {
 public:
  /// Adds the step of an observation of a host agent, if there is a step.
  void add(const Observation& seen);
  /// Adds the digests of device work. `log` belongs to the observed run.
  void add_digests(const Log& log);

  /// The first difference in words; nothing if there is none.
  friend std::optional<std::string> difference(const AgentSteps& first, const AgentSteps& second);

 private:
  struct Step {
    Observation::Kind kind{};
    OperationKind operation{};
    std::uint32_t actor = 0;   // By actors_.
    std::string_view name{};   // Of work; lives as long as the program.
    std::uint64_t number = 0;  // Bytes of an allocation or of footprints, a record, a variable.
    std::uint64_t digest = 0;
    CallSite site{};
  };
  using Steps = std::vector<const Step*>;
  static constexpr std::uint32_t kNoStep = 0;

  std::map<Actor, Steps> by_actor() const;
  static bool same(const Step& a, const Step& b);
  static std::string text(const Step* step);

  ActorNumbers actors_;
  std::vector<Step> steps_;  // Of all agents.
  // By stream and item: the position of the submission, from 1.
  NumberedValues<std::vector<std::uint32_t>> work_;
};

}  // namespace belfry::sim
