// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"
#include "belfry/sim/explore.h"
#include "engine/watch.h"
#include "explore/agent_steps.h"
#include "explore/run_facts.h"
#include "races/race_detector.h"
#include "watch/host_watch.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

using ExploredBody = std::function<BodyResult(Backend&)>;

/// The options of the runs of an exploration: everything is recorded and checked.
Options explored(Options options);

/// The value or the exception of a body.
struct BodyOutcome {
  BodyResult result{};
  bool threw = false;
  bool without_memory = false;  ///< Threw because memory was short.

  bool same(const BodyOutcome& other) const;
  std::string text() const;
};

/// The parts of a run that are watched.
enum class Scrutiny : std::uint8_t {
  kNothing,  ///< The log alone.
  kSteps,    ///< Steps.
  kOrder,    ///< Steps and races.
  kAll,      ///< Also accesses to host memory.
};

/// A run of a body on a backend of its own, from the constructor on.
class BodyRun {
 public:
  /// Runs `body`, and then all device work that is left. `guide` takes part in the run. Throws: as
  /// the constructor of Backend.
  BodyRun(const Options& options, const Attachments& guide, const ExploredBody& body,
          Scrutiny scrutiny);
  ~BodyRun();

  const BodyOutcome& outcome() const { return outcome_; }
  /// The schedule, without the work that was left; empty if not all choices were kept.
  const std::string& token() const { return token_; }
  /// The log, with the work that was left.
  const Log& log() const;
  /// Whether a choice was the order of a reduction.
  bool drew_orders() const { return drew_orders_; }
  /// The use of backends that nobody observes, in words; empty without such a use.
  std::string_view other_backends() const { return other_backends_; }
  /// Whether a second thread has used the backend.
  bool used_threads() const;
  /// The first draw of a random value in words; empty without a draw.
  const std::string& draw() const { return draw_; }
  /// Whether the body ran in the body of an exploration, where no host memory is watched.
  bool is_nested() const { return is_nested_; }
  /// Whether the body ran on the stack of a replica, or of a host of a cluster: variables of the
  /// caller would look like a replica's.
  bool is_on_fiber() const { return is_on_fiber_; }
  /// Whether an exploration of a second thread had the watch of host memory.
  bool is_second() const { return is_second_; }
  /// Whether the log has all operations, and the token all choices.
  bool is_recorded() const;
  const AgentSteps& steps() const;
  const RunFacts& facts() const;
  const races::RaceDetector& detector() const;
  const watch::HostReport& host() const { return host_; }
  /// Whether memory ran out in the observation of the run.
  bool is_incomplete() const;

 private:
  class Witness;

  void finish(bool keeps_choices);

  std::unique_ptr<Witness> witness_;  // The backend ends first.
  std::unique_ptr<Backend> backend_;
  BodyOutcome outcome_;
  std::string token_;
  bool drew_orders_ = false;
  std::string_view other_backends_;
  bool is_nested_ = false;
  bool is_on_fiber_ = false;
  bool is_second_ = false;
  std::string draw_;
  watch::HostReport host_;
};

}  // namespace belfry::sim
