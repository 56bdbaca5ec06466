// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/compare_functions.h"

#include "belfry/error.h"
#include "function_comparison.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

constexpr const char* kHint =
    "bring captured values as arguments of the merge and reduce them there; if the merge writes a "
    "replica's own variable, return results from the function instead (SEM-3 allows the write, but "
    "no other replica sees it)";

// The longest list of merges, for differences that no merge shows.
constexpr std::size_t kMostSites = 8;

std::string exception_text() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

std::string merge_text(const MergeValues& merge) {
  return "merge #" + std::to_string(merge.round) + " of run " + std::to_string(merge.run);
}

// The outcome of a run; empty for results that cannot be printed.
std::string outcome_text(const WatchedRun& run, const std::string& returned) {
  if (run.thrown) return "the body throws " + *run.thrown;
  return returned.empty() ? std::string() : "the body returns " + returned;
}

class Comparison {
 public:
  Comparison(const ComparedBody& body, const WatchedRun& first, CallSite site)
      : body_(body), first_(first), site_(site) {}

  bool is_same(const WatchedRun& run) const {
    return !first_difference(first_, run) && is_same_outcome(run);
  }

  [[noreturn]] void throw_not_deterministic(const WatchedRun& run) const {
    const auto part = first_difference(first_, run);
    throw InvalidArgumentError(
        ErrorCode::kNotDeterministic,
        "two runs with the functions of replica 0 differ " +
            (part ? place_of(run, *part) : std::string("in the result of the body")),
        "look for state that is kept between runs, variables that nobody initialises, clocks, and "
        "random numbers that no seed decides",
        site_);
  }

  [[noreturn]] void throw_captured(int replica, const WatchedRun& run) const {
    const auto part = first_difference(first_, run);
    // Before the first merge no merge function has run.
    if (part == std::size_t{0}) throw_not_deterministic(run);
    ErrorReport report;
    report.code = ErrorCode::kCapturedValue;
    const std::string whose = "the functions of replica " + std::to_string(replica);
    if (part) {
      const MergeValues& merge = part_of(run, *part);
      report.site = merge.site;
      report.summary = "with " + whose + " values differ after " + merge_text(merge);
    } else {
      report.site = site_;
      report.summary = "with " + whose + " the body has another result; no merge shows which of " +
                       sites_text() + " it comes from";
    }
    const std::string before = outcome_text(first_, body_.first_text());
    const std::string after = outcome_text(run, body_.last_text());
    report.replicas.push_back({0, report.site, "with its functions " + before, {}});
    report.replicas.push_back({replica, report.site, "with its functions " + after, {}});
    if (is_same_outcome(run)) {
      report.replicas = {{replica, report.site, "its function gives other values", {}}};
    }
    report.expected = "the same values whichever replica's functions the merges take";
    report.hint = kHint;
    throw InvalidArgumentError(std::move(report));
  }

 private:
  bool is_same_outcome(const WatchedRun& run) const {
    if (first_.thrown || run.thrown) return first_.thrown == run.thrown;
    return body_.returned_the_same();
  }
  const MergeValues& part_of(const WatchedRun& run, std::size_t part) const {
    return part < first_.parts.size() ? first_.parts[part] : run.parts[part];
  }
  std::string place_of(const WatchedRun& run, std::size_t part) const {
    const MergeValues& merge = part_of(run, part);
    if (merge.round == 0) return "before the first merge";
    return "after " + merge_text(merge) + " at " + to_string(merge.site);
  }
  // The places of all merges without repetition, in order.
  std::string sites_text() const {
    std::vector<std::string> sites;
    for (const MergeValues& merge : first_.parts) {
      std::string site = to_string(merge.site);
      if (merge.round == 0 || std::ranges::find(sites, site) != sites.end()) continue;
      sites.push_back(std::move(site));
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(sites.size(), kMostSites); ++i) {
      text += (i == 0 ? "" : ", ") + sites[i];
    }
    if (sites.size() <= kMostSites) return text;
    return text + " and " + std::to_string(sites.size() - kMostSites) + " more";
  }

  const ComparedBody& body_;
  const WatchedRun& first_;
  CallSite site_;
};

void require_comparable(const sim::Options& options, CallSite site) {
  const auto refuse = [&](const char* what, const char* hint) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
  };
  if (options.devices < 2) {
    refuse("functions of fewer than two replicas are to be compared",
           "set Options::devices to 2 or more");
  }
  if (options.carrier != sim::Carrier::kFiber) {
    refuse("functions are compared on fibers alone", "leave Options::carrier at kFiber");
  }
  if (options.schedule.kind == sim::ScheduleKind::kReplayed) {
    refuse("the choices of a replayed schedule belong to the functions of one replica",
           "take a fixed schedule, or a random one with Options::seed");
  }
}

}  // namespace

void compare_runs(int replicas, const ComparedBody& body, const RunWithFunctions& run,
                  CallSite site) {
  const WatchedRun first = run(0);
  const Comparison comparison(body, first, site);
  const WatchedRun again = run(0);
  if (!comparison.is_same(again)) comparison.throw_not_deterministic(again);
  for (int replica = 1; replica < replicas; ++replica) {
    const WatchedRun other = run(replica);
    if (!comparison.is_same(other)) comparison.throw_captured(replica, other);
  }
}

void compare_functions_of(ComparedBody& body, const sim::Options& options, CallSite site) {
  require_comparable(options, site);
  bool is_first = true;
  const auto run = [&](int functions_of) {
    WatchedRun watched;
    sim::Backend backend{watched_options(options, functions_of), site};
    const bool rethrow = std::exchange(is_first, false);
    try {
      body.run(backend);
    } catch (...) {
      if (rethrow) throw;
      watched.thrown = exception_text();
    }
    add_log(backend, watched, site);
    return watched;
  };
  compare_runs(options.devices, body, run, site);
}

}  // namespace belfry::testing
