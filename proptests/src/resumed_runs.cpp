// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/testing/resumes_like_uninterrupted.h"
#include "belfry/testing/values.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace belfry::testing {
namespace {

// Without a base: handlers for std::exception do not catch an interruption.
struct Interruption {};

[[noreturn]] void refuse_runs(const std::string& what, const char* hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
}

std::string counted(int number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string outcome_or_other(const std::string& text) {
  return text.empty() ? "something else" : text;
}

}  // namespace

void ResumableRun::begin(Checkpoint& checkpoint, CallSite site) {
  if (checkpoint_ != nullptr) {
    refuse_runs("a run begins twice", "call begin once, before the first step", site);
  }
  checkpoint_ = &checkpoint;
  if (goes_on_ != nullptr) checkpoint.restore(*goes_on_, {.site = site});
}

void ResumableRun::step_done(CallSite site) {
  if (checkpoint_ == nullptr) {
    refuse_runs("a step is done before the run begins",
                "call begin(checkpoint) of the ResumableRun before the first step", site);
  }
  if (++steps_ != interrupted_after_) return;
  saved_ = checkpoint_->contents(site);
  throw Interruption();
}

/// The runs of a comparison.
class ResumedRuns {
 public:
  ResumedRuns(ComparedBody& body, ResumableRun& run, const ResumeOptions& options, CallSite site)
      : body_(body),
        run_(run),
        options_(options),
        site_(site),
        replicas_(1 + drawn(0, options.most_replicas)) {}

  ResumeReport compare() {
    run_on(replicas_);
    steps_ = run_.steps_;
    if (run_.checkpoint_ == nullptr || steps_ == 0) {
      refuse_runs(
          "the body has no steps that could be interrupted",
          "call begin(checkpoint) of the ResumableRun before the first step, and step_done() "
          "after each step",
          site_);
    }
    ResumeReport report;
    for (int i = 1; i <= options_.interruptions; ++i) {
      const int step = 1 + drawn(2 * i, steps_);
      // Another number of replicas.
      int others = 1 + drawn(2 * i + 1, options_.most_replicas - 1);
      if (others >= replicas_) ++others;
      report.difference = difference_after(step, others);
      if (!report.difference.empty()) return report;
      ++report.resumed;
    }
    return report;
  }

 private:
  // A number from 0 to count - 1.
  int drawn(int draw, int count) const {
    return static_cast<int>(mixed_bits(options_.seed, 0, static_cast<std::uint64_t>(draw)) %
                            static_cast<std::uint64_t>(count));
  }

  void run_on(int replicas, int interrupted_after = 0, const TensorFile* goes_on = nullptr) {
    run_.checkpoint_ = nullptr;
    run_.steps_ = 0;
    run_.interrupted_after_ = interrupted_after;
    run_.goes_on_ = goes_on;
    sim::Backend backend({.devices = replicas, .record = false, .seed = options_.seed}, site_);
    body_.run(backend);
  }

  TensorFile saved_after(int step) {
    try {
      run_on(replicas_, step);
    } catch (const Interruption&) {
      return std::exchange(run_.saved_, {});
    }
    refuse_runs("the body went on after an interruption in step " + std::to_string(step),
                "let the exception of step_done pass, and take the same steps in every run", site_);
  }

  // Empty if the resumed run has the outcome of the first.
  std::string difference_after(int step, int others) {
    const TensorFile saved = saved_after(step);
    const std::string place = "on " + counted(others, "replica") + " after step " +
                              std::to_string(step) + " of " + std::to_string(steps_) + " on " +
                              counted(replicas_, "replica");
    try {
      run_on(others, 0, &saved);
    } catch (const std::exception& error) {
      return "the run resumed " + place + " throws " + error.what();
    }
    if (run_.checkpoint_ == nullptr) {
      refuse_runs("the body did not begin the run resumed " + place,
                  "call begin(checkpoint) in every run", site_);
    }
    if (body_.returned_the_same()) return {};
    std::string text = "the run resumed " + place + " returns " +
                       outcome_or_other(body_.last_text()) + ", the uninterrupted run " +
                       outcome_or_other(body_.first_text());
    run_on(others);
    if (!body_.returned_the_same()) {
      return text + "; so does an uninterrupted run on " + counted(others, "replica") +
             ": the outcome depends on the number of replicas";
    }
    return text + "; add the state that a step changes to the checkpoint";
  }

  ComparedBody& body_;
  ResumableRun& run_;
  const ResumeOptions& options_;
  CallSite site_;
  int replicas_;   // Of the uninterrupted run.
  int steps_ = 0;  // Of the uninterrupted run.
};

std::unique_ptr<Strategy> strategy_of(const ResumeOptions& options, Backend& backend,
                                      CallSite site) {
  if (!options.strategy) {
    return std::make_unique<MirroredStrategy>(backend, StrategyOptions{}, site);
  }
  std::unique_ptr<Strategy> strategy = options.strategy(backend);
  if (strategy == nullptr) {
    refuse_runs("a comparison with an uninterrupted run without a strategy",
                "return a strategy from ResumeOptions::strategy", site);
  }
  return strategy;
}

ResumeReport compare_resumed_runs(ComparedBody& body, ResumableRun& run,
                                  const ResumeOptions& options, CallSite site) {
  if (options.most_replicas < 2 || options.interruptions < 1) {
    refuse_runs("a comparison of " + counted(options.interruptions, "interruption") + " on up to " +
                    counted(options.most_replicas, "replica"),
                "compare at least one interruption on at least two numbers of replicas", site);
  }
  return ResumedRuns(body, run, options, site).compare();
}

std::string to_string(const ResumeOptions& options) {
  const ResumeOptions usual;
  std::string text;
  const auto add = [&](const std::string& member) { text += (text.empty() ? "" : ", ") + member; };
  if (options.most_replicas != usual.most_replicas) {
    add(".most_replicas = " + std::to_string(options.most_replicas));
  }
  if (options.interruptions != usual.interruptions) {
    add(".interruptions = " + std::to_string(options.interruptions));
  }
  if (options.seed != usual.seed) add(".seed = " + std::to_string(options.seed));
  if (options.strategy) add(".strategy = \"a function\"");
  return "ResumeOptions{" + text + "}";
}

std::string to_string(const ResumeReport& report) {
  if (!report.difference.empty()) return report.difference;
  return counted(report.resumed, "resumed run") + (report.resumed == 1 ? " is" : " are") +
         " the same";
}

}  // namespace belfry::testing
