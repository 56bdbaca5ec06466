// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"
#include "log/numbered_values.h"
#include "races/clock.h"

#include <cstdint>
#include <map>
#include <vector>

namespace belfry::sim::races {

/// A host agent: the caller with its merges, or the replica of an id. At most one run has replicas
/// that go on, and replicas of different runs never go on in a common phase: an id is enough.
struct HostAgent {
  static constexpr std::int32_t kCaller = -1;

  std::int32_t slot = kCaller;  ///< kCaller, or the id of the replica.
  Lane lane = 0;                ///< Of its own steps.
  std::uint32_t phase = 0;      ///< The phase of the members below.
  std::uint32_t steps = 0;      ///< Steps so far.
  Clock clock{};                ///< Everything before its next step, without its own steps.
  std::map<std::int32_t, Clock> streams{};  ///< Items of other replicas in streams, submitted
                                            ///< before a variable that this replica has taken.
};

/// The order of host agents in every schedule. A phase is the time between two points at which all
/// replicas of a run stand still: at a merge, or ended. Phases follow each other, because the
/// caller goes on only there. In a phase the steps of each replica are in order, and the making of
/// a variable comes before its use. Nothing else is in order: step 2 of replica 0 in phase 3 comes
/// after all of phase 2, and has no order with replica 1's steps of phase 3.
class HostOrder {
 public:
  explicit HostOrder(Lane& lanes) : lanes_(lanes) { change_phase(); }

  /// Begins a phase if `seen`, of no stream, says so, and returns the agent of `seen`.
  HostAgent& see(const Observation& seen);
  /// The same of an observation that puts nothing in order besides.
  void pass(const Observation& seen) { number_of(seen); }
  /// The present phase, from 1.
  std::uint32_t phase() const { return phase_; }
  /// Counts a step of `agent`, and returns the number of the step in its lane.
  static std::uint32_t step(HostAgent& agent) { return ++agent.steps; }

 private:
  std::size_t number_of(const Observation& seen);
  void change_phase();

  Lane& lanes_;
  std::uint32_t phase_ = 0;
  bool replicas_go_on_ = false;
  Clock base_;                        // Everything before the present phase.
  NumberedValues<HostAgent> agents_;  // By slot + 1.
  std::vector<std::size_t> active_;   // In the present phase, by the same number.
};

}  // namespace belfry::sim::races
