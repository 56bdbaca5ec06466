// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/call_site.h"
#include "belfry/checkpoint.h"
#include "belfry/detail/prints.h"
#include "belfry/sim/backend.h"
#include "belfry/strategy.h"
#include "belfry/tensor_file.h"
#include "belfry/testing/compared_body.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace belfry::testing {

/// A run of a body that may be interrupted after a step, or go on after an interruption. The body
/// calls `begin` before the first step, and `step_done` after each step.
class ResumableRun {
 public:
  /// Begins the steps. `checkpoint` has the state of the training, and outlives the steps. A
  /// resumed run restores the checkpoint here.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a second call in a run; the errors of
  /// Checkpoint::restore.
  void begin(Checkpoint& checkpoint, CallSite site = CallSite::here());
  /// Ends an interrupted run after the drawn step, by an exception for the caller of the body.
  /// Throws: InvalidArgumentError (kInvalidArgument) before `begin`; the errors of
  /// Checkpoint::contents.
  void step_done(CallSite site = CallSite::here());

 private:
  friend class ResumedRuns;

  Checkpoint* checkpoint_ = nullptr;     // Null before `begin`.
  int steps_ = 0;                        // Done in this run.
  int interrupted_after_ = 0;            // 0: never.
  const TensorFile* goes_on_ = nullptr;  // Null in a run from the start.
  TensorFile saved_{};
};

/// The settings of a comparison with an uninterrupted run.
struct ResumeOptions {
  int most_replicas = 6;   ///< Numbers of replicas are drawn from 1 to this number, at least 2.
  int interruptions = 8;   ///< The number of interrupted runs, at least 1.
  std::uint64_t seed = 0;  ///< Decides the draws and the schedules of the simulator.
  /// Makes the strategy of a run over all devices of the backend. Without a function: a
  /// MirroredStrategy.
  std::function<std::unique_ptr<Strategy>(Backend&)> strategy{};
};

/// `ResumeOptions{.most_replicas = 4}`: the members that differ from their default. A strategy is
/// the word `"a function"`.
std::string to_string(const ResumeOptions& options);

/// The result of a comparison with an uninterrupted run.
struct ResumeReport {
  std::string difference{};  ///< The first run with another result, in words; empty without one.
  int resumed = 0;           ///< The number of resumed runs with the same result.

  bool operator==(const ResumeReport&) const = default;
};

/// `8 resumed runs are the same`, or the difference.
std::string to_string(const ResumeReport& report);

/// A new strategy of the options. Throws: InvalidArgumentError (kInvalidArgument) for a function
/// without a strategy.
std::unique_ptr<Strategy> strategy_of(const ResumeOptions& options, Backend& backend,
                                      CallSite site);
/// compare_resumed for a body of any type. `body` works on `run`.
ResumeReport compare_resumed_runs(ComparedBody& body, ResumableRun& run,
                                  const ResumeOptions& options, CallSite site);

/// Finds state of a training without a place in the checkpoint. `body(Strategy&, ResumableRun&)`
/// trains, and returns the outcome of the training. The comparison has
/// - an uninterrupted run, on a drawn number of replicas;
/// - interrupted runs on as many replicas: each ends after a drawn step, with a save;
/// - after each of them a resumed run in a new strategy, on another number of replicas, from the
///   restore to the end. The outcome has the bits of the uninterrupted run, or differs.
///
/// Outcomes are the same on every number of replicas, such as sums of whole numbers: rounding in
/// replicas is a difference. `==` or the bits of a nest compare outcomes. State outside of the body
/// lives on in the resumed run, and is not found.
///
/// Throws:
/// - InvalidArgumentError (kInvalidArgument): options out of range; a body without `begin` or
///   without steps, or with a handler for the exception of `step_done`;
/// - exceptions of the body in an uninterrupted or interrupted run. An exception in a resumed run
///   is a difference.
template <class Body>
ResumeReport compare_resumed(const Body& body, const ResumeOptions& options = {},
                             CallSite site = CallSite::here()) {
  using Outcome = std::invoke_result_t<const Body&, Strategy&, ResumableRun&>;
  static_assert(
      !std::is_void_v<Outcome>,
      "the body returns the outcome of the training: write return strategy.read(weights)");
  ResumableRun run;
  const auto on_backend = [&](sim::Backend& backend) -> Outcome {
    const std::unique_ptr<Strategy> strategy = strategy_of(options, backend, site);
    return body(*strategy, run);
  };
  BodyOf<decltype(on_backend)> compared(on_backend);
  return compare_resumed_runs(compared, run, options, site);
}

/// Fails the test at the caller's line, with the first difference, unless resumed runs on other
/// numbers of replicas end as an uninterrupted run:
///
///     resumes_like_uninterrupted([](Strategy& strategy, ResumableRun& run) {
///       const auto sum = strategy.mirrored_variable(0, {.name = "sum"});
///       const auto data = strategy.distribute_dataset(rows, options);
///       Checkpoint checkpoint(strategy);
///       checkpoint.add(sum).add("rows", data);
///       run.begin(checkpoint);
///       for (const auto& step : data) {
///         train(strategy, sum, step);
///         run.step_done();
///       }
///       return strategy.read(sum);
///     });
///
/// Throws: as compare_resumed.
template <class Body>
void resumes_like_uninterrupted(const Body& body, const ResumeOptions& options = {},
                                CallSite site = CallSite::here()) {
  const ResumeReport report = compare_resumed(body, options, site);
  if (!report.difference.empty()) ADD_FAILURE_AT(site.file, site.line) << report.difference;
}

using belfry::operator<<;

}  // namespace belfry::testing
