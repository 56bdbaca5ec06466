// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The runner's failures: the replica that is blamed, and the report. Memory may run out in each
// description, and fail_as is the way out then.
#include "belfry/detail/replica_runner.h"
#include "run/exception_text.h"
#include "run/failure_words.h"
#include "words/with_report.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

std::string merges_text(std::uint32_t merges) {
  return merges == 0 ? "before its first merge" : "after merge #" + std::to_string(merges);
}

// `merge_call #3`, `all_reduce #3 "weight"`.
std::string numbered_name(const MergeRequest& request, std::uint64_t merge) {
  return std::string(to_string(request.type->kind)) + " #" + std::to_string(merge) +
         text_of(request.tag);
}

}  // namespace

// An error of belfry that names no replica gets the places where they all wait, unless its type is
// not the one that its code has; a user's own exception stays as it is.
void ReplicaRunner::fail_in_merge(const MergeRequest& first, const std::exception_ptr& thrown) {
  fail_as(thrown, [&] {
    ErrorReport report = report_of(thrown);
    const bool ours = report.code != ErrorCode::kMergeThrew;
    if (report.replicas.empty()) {
      report.replicas = replica_reports();
    } else if (first.type->kind != MergeKind::kMergeCall || first.tag != nullptr) {
      report.summary += numbered(rounds_, first.tag);
    }
    if (ours) {
      std::exception_ptr described = with_report(thrown, report);
      return fail(std::move(described), std::move(report));
    }
    report.summary = numbered_name(first, rounds_) + " threw " + report.summary;
    fail(thrown, std::move(report));
  });
}

bool ReplicaRunner::record_own_exceptions() {
  const auto failed =
      std::ranges::find(states_, ReplicaState::Status::kThrew, &ReplicaState::status);
  if (failed == states_.end()) return false;
  blame(*failed, [this] { return replica_reports(); });
  return true;
}

// Who merges in a destructor while its own exception unwinds it had thrown before the others missed
// it, and outranks that. It comes out of its merge, and shows, only when the run is unwound.
void ReplicaRunner::record_hidden_exceptions() {
  const auto hidden = std::ranges::find_if(states_, [](const ReplicaState& replica) {
    return replica.status == ReplicaState::Status::kThrew && replica.was_throwing;
  });
  if (hidden == states_.end() || id_of(*hidden) >= blamed_) return;
  blame(*hidden, [&] {
    // Without a report of the first failure there is nothing that this one could add to.
    if (!core().last_failure()) throw std::bad_alloc();
    std::vector<ReplicaReport> replicas = core().last_failure()->replicas;
    for (ReplicaReport& report : replicas) {
      if (report.replica_id != id_of(*hidden)) continue;
      report.what = "threw " + text_of(hidden->exception) + ", then " + report.what;
      report.exception = hidden->exception;
    }
    return replicas;
  });
}

// The run fails with the exception of `thrower`. An error of belfry that names no replica gets that
// one, as in fail_in_merge.
template <class Replicas>
void ReplicaRunner::blame(const ReplicaState& thrower, const Replicas& replicas) {
  blamed_ = id_of(thrower);
  fail_as(thrower.exception, [&] {
    std::vector<ReplicaReport> all = replicas();
    std::exception_ptr thrown = thrower.exception;
    ErrorReport report = report_of(thrown);
    if (report.code == ErrorCode::kMergeThrew) {
      report.code = ErrorCode::kReplicaThrew;
      report.summary = "a replica threw " + report.summary;
    } else if (report.replicas.empty()) {
      report.replicas = {
          {id_of(thrower), report.site, "threw this " + merges_text(thrower.merges), {}}};
      thrown = with_report(std::move(thrown), report);
    }
    report.replicas = std::move(all);
    fail(std::move(thrown), std::move(report));
  });
}

void ReplicaRunner::fail(std::exception_ptr primary, ErrorReport report) noexcept {
  primary_ = std::move(primary);
  core().last_failure() = std::move(report);
  set_failed();
}

// Replicas that outlasted the failure appear in its report after the run. A report that could not
// say so is none.
void ReplicaRunner::report_abandoned() noexcept {
  try {
    add_abandoned();
  } catch (const std::bad_alloc&) {
    core().last_failure().reset();
  }
}

void ReplicaRunner::add_abandoned() {
  std::optional<ErrorReport>& report = core().last_failure();
  if (!report) return;
  for (std::size_t replica = 0; replica < states_.size(); ++replica) {
    if (states_[replica].status != ReplicaState::Status::kAbandoned) continue;
    report->replicas.push_back(
        {static_cast<int>(replica),
         states_[replica].last_site,
         "was abandoned: it swallowed its cancellation " + std::to_string(kPatience) + " times",
         {}});
  }
}

void ReplicaRunner::deadlock(const std::vector<int>& blocked) noexcept {
  if (has_failed()) return;
  fail_as(nullptr, [&] {
    ErrorReport report;
    report.code = ErrorCode::kDeadlock;
    report.summary = "every agent waits: " + std::to_string(blocked.size()) + " of " +
                     std::to_string(states_.size()) +
                     " replicas are blocked and no stream can move";
    report.replicas = replica_reports();
    report.hint = "a collective misses a member, or host code waits for what comes after it";
    std::exception_ptr error = std::make_exception_ptr(DeviceError(report));
    fail(std::move(error), std::move(report));
  });
}

std::vector<ReplicaReport> ReplicaRunner::replica_reports() const {
  std::vector<ReplicaReport> reports;
  for (std::size_t replica = 0; replica < states_.size(); ++replica) {
    const ReplicaState& own = states_[replica];
    ReplicaReport report{static_cast<int>(replica), own.last_site, {}, own.exception};
    switch (own.status) {
      case ReplicaState::Status::kArrived:
        report.what = "waits in " + numbered_name(*requests_[replica], own.merges);
        break;
      case ReplicaState::Status::kSeeking:
        report.site = own.sought->site;
        report.what = "waits for replica " + std::to_string(present_.id(0)) + " to make " +
                      (own.sought->name.empty() ? "a variable" : '"' + own.sought->name + '"');
        break;
      case ReplicaState::Status::kAbsent:
        report.what = "takes no part in this run";
        break;
      case ReplicaState::Status::kThrew:
        report.what = "threw " + text_of(own.exception) + " " + merges_text(own.merges);
        break;
      case ReplicaState::Status::kEnded:
        report.what = "returned " + merges_text(own.merges);
        break;
      case ReplicaState::Status::kRunning:
        report.what = "waits for its device " + merges_text(own.merges);
        break;
      case ReplicaState::Status::kCancelled:
      case ReplicaState::Status::kAbandoned:
        report.what = "was cancelled " + merges_text(own.merges);
        break;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace belfry::detail
