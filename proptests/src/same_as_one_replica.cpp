// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/same_as_one_replica.h"

#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/strategies.h"
#include "one_replica_comparison.h"
#include "reduction_tape.h"

#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

namespace belfry::testing {
namespace {

[[noreturn]] void refuse(const std::string& what, const char* hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
}

std::string text_of(double number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

std::unique_ptr<Strategy> strategy_on(Backend& backend, const OneReplicaOptions& options,
                                      CallSite site) {
  if (!options.strategy) {
    return std::make_unique<MirroredStrategy>(backend, StrategyOptions{}, site);
  }
  std::unique_ptr<Strategy> strategy = options.strategy(backend);
  if (strategy == nullptr) {
    refuse("a comparison with one replica without a strategy",
           "return a strategy from OneReplicaOptions::strategy", site);
  }
  return strategy;
}

// Strategies that leave devices out have a single replica, too.
std::string on(int replicas, int devices) {
  const std::string text =
      " on " + std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas");
  return replicas == 1 ? text + " of " + std::to_string(devices) + " devices" : text;
}

struct RunEnd {
  std::exception_ptr thrown{};   // By the body; ends the run.
  std::string unnamed_merges{};  // For messages.
};

RunEnd run(Strategy& strategy, const std::function<void(Strategy&)>& body, TapeReader& reader) {
  const ReductionTape tape(strategy, reader);
  RunEnd end;
  try {
    body(strategy);
  } catch (...) {
    end.thrown = std::current_exception();
  }
  end.unnamed_merges = tape.unnamed_merges();
  return end;
}

sim::Options backend_options(int devices, const OneReplicaOptions& options) {
  return {.devices = devices, .record = false, .seed = options.seed};
}

RunRecord run_one(const OneReplicaOptions& options, const std::function<void(Strategy&)>& body,
                  CallSite site) {
  sim::Backend backend(backend_options(1, options), site);
  const std::unique_ptr<Strategy> strategy = strategy_on(backend, options, site);
  const int replicas = strategy->num_replicas();
  if (replicas != 1) {
    refuse("a comparison with one replica has " + std::to_string(replicas) + " on one device",
           "make the strategy of OneReplicaOptions::strategy over the devices of its backend",
           site);
  }
  RunRecord record;
  const RunEnd end = run(*strategy, body, record);
  if (end.thrown) std::rethrow_exception(end.thrown);
  return record;
}

}  // namespace

OneReplicaReport compare_with_one_replica(const OneReplicaOptions& options,
                                          const std::function<void(Strategy&)>& body,
                                          CallSite site) {
  if (options.replicas < 2) {
    refuse("a comparison of one replica with " + std::to_string(options.replicas),
           "compare with two replicas or more", site);
  }
  if (!(options.tolerance >= 0) || std::isinf(options.tolerance)) {
    refuse("a comparison with one replica with the tolerance " + text_of(options.tolerance),
           "give OneReplicaOptions::tolerance as a share of the largest element, such as 1e-6",
           site);
  }
  const RunRecord one = run_one(options, body, site);
  sim::Backend backend(backend_options(options.replicas, options), site);
  const std::unique_ptr<Strategy> strategy = strategy_on(backend, options, site);
  const int replicas = strategy->num_replicas();
  OneReplicaComparison comparison(options, one, replicas, on(replicas, options.replicas));
  const RunEnd end = run(*strategy, body, comparison);
  OneReplicaReport report = comparison.report(end.thrown != nullptr);
  if (!report.difference.empty()) {
    report.difference += end.unnamed_merges;
  } else if (end.thrown) {
    std::rethrow_exception(end.thrown);
  }
  return report;
}

std::string to_string(const OneReplicaOptions& options) {
  std::string text = "OneReplicaOptions{.replicas = " + std::to_string(options.replicas);
  if (options.seed != 0) text += ", .seed = " + std::to_string(options.seed);
  if (options.terms != OneReplicaOptions().terms)
    text += ", .terms = " + std::to_string(options.terms);
  if (options.tolerance != 0) text += ", .tolerance = " + text_of(options.tolerance);
  if (!options.realign) text += ", .realign = false";
  if (options.strategy) text += ", .strategy = \"a function\"";
  return text + '}';
}

std::string to_string(const OneReplicaReport& report) {
  if (!report.difference.empty()) return report.difference;
  const bool is_single = report.reductions == 1;
  std::string text = std::to_string(report.reductions) +
                     (is_single ? " reduction is the same" : " reductions are the same");
  if (report.unjudged > 0) text += ", " + std::to_string(report.unjudged) + " leaves not judged";
  return text;
}

}  // namespace belfry::testing
