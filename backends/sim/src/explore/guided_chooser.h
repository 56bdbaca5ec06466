// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"
#include "explore/departure.h"
#include "explore/shrunk_answers.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace belfry::sim {

/// Answers the questions of a run from a list, also if the questions differ from the questions for
/// which the list was made: an answer that is too large counts as the largest, and after the list
/// comes the serial schedule. Attached as the observer, too, the Chooser knows which replicas have
/// begun.
class GuidedChooser final : public Chooser, public Observer {
 public:
  explicit GuidedChooser(Answers answers) : answers_(std::move(answers)) {}

  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override;
  bool wants_candidates() const override { return true; }
  std::uint32_t choose_among(std::span<const AgentId> candidates) override;
  void observe(const Observation& seen) override;

  /// The choices that differ from the serial schedule, in order. Some are missing if memory ran
  /// out.
  const std::vector<Departure>& departures() const { return departures_; }

 private:
  std::uint32_t next(std::uint32_t count);
  std::uint32_t run() const { return runs_.empty() ? 0 : runs_.back(); }
  AgentAtChoice at_choice(const AgentId& agent) const;
  void keep(const Departure& departure);

  const Answers answers_;
  std::size_t asked_ = 0;
  std::vector<std::uint32_t> runs_;  // That have begun and not ended, the innermost last.
  std::map<Actor, CallSite> last_;   // Of agents with a step.
  std::vector<Departure> departures_;
};

}  // namespace belfry::sim
