// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/run_report.h"

#include "belfry/backend/stall_watch.h"
#include "belfry/detail/group_point.h"
#include "belfry/detail/group_reports.h"
#include "belfry/detail/merge_point.h"
#include "run/rounds/exception_text.h"
#include "run/rounds/group_waits.h"
#include "run/rounds/rendezvous.h"
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
         text_of(request.tag) + group_text(request);
}

// The end of a sentence about a merge. In a loop the places do not tell the
// merges apart.
std::string numbered(std::uint64_t round, const MergeTag* tag, const std::string& group = {}) {
  return " (merge #" + std::to_string(round) + text_of(tag) + group + ")";
}

std::string sought_text(const VariableRequest& sought) {
  return sought.name.empty() ? "a variable" : '"' + sought.name + '"';
}

CallSite site_of(const ReplicaState& state) {
  return {published(state.last_site.file), published(state.last_site.line)};
}

// `2 s`, `150 ms`.
std::string time_text(std::int64_t ms) {
  const bool whole = ms % 1000 == 0;
  return std::to_string(whole ? ms / 1000 : ms) + (whole ? " s" : " ms");
}

}  // namespace

std::vector<ReplicaReport> replica_reports(const RunFacts& run) {
  std::vector<ReplicaReport> reports;
  for (const ReplicaState& own : run.states) {
    const int replica = run.states.id_of(own);
    const auto status = published(own.status);
    const std::uint32_t merges = published(own.merges);
    ReplicaReport report{replica, site_of(own), {}, {}};
    if (status >= ReplicaState::Status::kEnded) report.exception = own.exception;
    switch (status) {
      case ReplicaState::Status::kElsewhere:
        continue;
      case ReplicaState::Status::kArrived:
        report.what =
            "waits in " + numbered_name(*run.requests[static_cast<std::size_t>(replica)], merges);
        break;
      case ReplicaState::Status::kSeeking:
        report.site = own.sought->site;
        report.what = "waits for replica " + std::to_string(run.present.id(0)) + " to make " +
                      sought_text(*own.sought);
        break;
      case ReplicaState::Status::kMaking:
        report.what = "makes a variable " + merges_text(merges);
        break;
      case ReplicaState::Status::kAbsent:
        report.what = "takes no part in this run";
        break;
      case ReplicaState::Status::kThrew:
        report.what = "threw " + text_of(own.exception) + " " + merges_text(merges);
        break;
      case ReplicaState::Status::kEnded:
        report.what = "returned " + merges_text(merges);
        break;
      case ReplicaState::Status::kRunning:
        report.what = "waits for its device " + merges_text(merges);
        break;
      case ReplicaState::Status::kCancelled:
      case ReplicaState::Status::kAbandoned:
        report.what = "was cancelled " + merges_text(merges);
        break;
      case ReplicaState::Status::kStalled:
        report.what = "was left behind " + merges_text(merges);
        break;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

namespace {

template <class E>
Failure failure_of(ErrorReport report) {
  std::exception_ptr error = std::make_exception_ptr(E(report));
  return {std::move(error), std::move(report)};
}

// The launch of a user's kernel whose body threw the exception; empty for every other exception.
std::string launch_of(const RunFacts& run, const std::exception_ptr& thrown) {
  return run.kernel_failures == nullptr ? "" : run.kernel_failures->launch_of(thrown);
}

// An error of belfry without a replica gets the thrower's.
Failure thrown_by(const RunFacts& run, const ReplicaState& thrower,
                  std::vector<ReplicaReport> replicas) {
  std::exception_ptr thrown = thrower.exception;
  ErrorReport report = report_of(thrown);
  if (report.code == ErrorCode::kMergeThrew) {
    report.code = ErrorCode::kReplicaThrew;
    report.summary = "a replica threw " + report.summary + launch_of(run, thrown);
  } else if (report.replicas.empty()) {
    // Calls below the verbs have no site; the last merge of the replica is then the nearest place.
    const CallSite place = report.site.empty() ? thrower.last_site : report.site;
    report.replicas = {
        {run.states.id_of(thrower), place, "threw this " + merges_text(thrower.merges), {}}};
    thrown = with_report(std::move(thrown), report);
  }
  report.replicas = std::move(replicas);
  return {std::move(thrown), std::move(report)};
}

}  // namespace

std::vector<ReplicaReport> reports_of(const RunFacts& run, const Participants& replicas) {
  std::vector<ReplicaReport> reports = replica_reports(run);
  std::erase_if(reports, [&](const ReplicaReport& one) { return !replicas.has(one.replica_id); });
  return reports;
}

Failure merge_missing(const RunFacts& run) {
  ErrorReport report;
  report.code = ErrorCode::kMergeMissing;
  report.summary = "some replicas ended without a merge that others wait in";
  report.replicas = replica_reports(run);
  report.expected = "every replica reaches the same merges in the same order";
  report.hint =
      "take merges out of branches and loops whose length depends on "
      "the replica";
  return failure_of<MergeMismatchError>(std::move(report));
}

Failure merge_mismatch(const RunFacts& run, std::uint64_t round) {
  ErrorReport mismatch = describe_mismatch(run.requests, run.present);
  const MergeRequest& first = *run.requests[static_cast<std::size_t>(run.present.id(0))];
  mismatch.summary +=
      first.group == nullptr ? numbered(round, nullptr) : " (" + text_of_group(*first.group) + ")";
  return failure_of<MergeMismatchError>(std::move(mismatch));
}

Failure merge_threw(const RunFacts& run, std::uint64_t round, const MergeRequest& first,
                    const std::exception_ptr& thrown) {
  ErrorReport report = report_of(thrown);
  const Participants members = members_of(first, run.present);
  // The merges of a group are counted by a member.
  const auto lowest = static_cast<std::size_t>(members.id(0));
  const std::uint64_t number = first.group == nullptr ? round : run.states[lowest].merges;
  const bool ours = report.code != ErrorCode::kMergeThrew;
  if (report.replicas.empty()) {
    report.replicas = reports_of(run, members);
  } else if (first.type->kind != MergeKind::kMergeCall || first.tag != nullptr) {
    report.summary += numbered(number, first.tag, group_text(first));
  }
  if (ours) {
    std::exception_ptr described = with_report(thrown, report);
    return {std::move(described), std::move(report)};
  }
  report.summary =
      numbered_name(first, number) + " threw " + report.summary + launch_of(run, thrown);
  return {thrown, std::move(report)};
}

Failure replica_threw(const RunFacts& run, const ReplicaState& thrower) {
  return thrown_by(run, thrower, replica_reports(run));
}

Failure replica_had_thrown(const RunFacts& run, const ReplicaState& thrower,
                           const std::optional<ErrorReport>& last) {
  if (!last) throw std::bad_alloc();
  std::vector<ReplicaReport> replicas = last->replicas;
  for (ReplicaReport& report : replicas) {
    if (report.replica_id != run.states.id_of(thrower)) continue;
    report.what = "threw " + text_of(thrower.exception) + ", then " + report.what;
    report.exception = thrower.exception;
  }
  return thrown_by(run, thrower, std::move(replicas));
}

Failure variable_missing(const RunFacts& run) {
  ErrorReport report;
  report.code = ErrorCode::kVariableMismatch;
  report.summary = "a replica asked for a variable that replica " +
                   std::to_string(run.present.id(0)) + " does not make";
  report.replicas = replica_reports(run);
  report.expected = "every replica makes the same variables";
  report.hint = "make variables outside branches that depend on the replica";
  std::exception_ptr error = exception_of(report);
  return {std::move(error), std::move(report)};
}

Failure variables_differ(const std::exception_ptr& thrown) { return {thrown, report_of(thrown)}; }

Failure stack_overflowed(const RunFacts& run, const std::exception_ptr& thrown) {
  ErrorReport report = report_of(thrown);
  if (report.replicas.empty()) return {thrown, std::move(report)};
  ReplicaReport& own = report.replicas.front();
  const auto replica = static_cast<std::size_t>(own.replica_id);
  own.site = run.states[replica].last_site;
  own.what += ", and ended " + merges_text(run.states[replica].merges);
  std::exception_ptr described = with_report(thrown, report);
  std::vector<ReplicaReport> replicas = replica_reports(run);
  const auto listed =
      std::ranges::find(replicas, own.replica_id, [](const auto& each) { return each.replica_id; });
  if (listed != replicas.end()) *listed = own;
  report.replicas = std::move(replicas);
  return {std::move(described), std::move(report)};
}

Failure run_deadlock(const RunFacts& run, std::size_t blocked) {
  ErrorReport report;
  report.code = ErrorCode::kDeadlock;
  report.summary = "every agent waits: " + std::to_string(blocked) + " of " +
                   std::to_string(run.states.size()) +
                   " replicas are blocked and no stream can move";
  report.replicas = replica_reports(run);
  report.hint =
      "a collective misses a member, or host code waits for what "
      "comes after it";
  return failure_of<DeviceError>(std::move(report));
}

Failure run_late(const RunFacts& run, bool in_merge, std::int64_t limit_ms,
                 const std::string& open) {
  ErrorReport report;
  report.code = ErrorCode::kDeadline;
  report.replicas = replica_reports(run);
  std::vector<int> missing;
  for (const ReplicaState& own : run.states) {
    if (published(own.status) != ReplicaState::Status::kRunning) continue;
    const int replica = run.states.id_of(own);
    missing.push_back(replica);
    const auto listed = std::ranges::find(report.replicas, replica, &ReplicaReport::replica_id);
    listed->what = "runs its own code " + merges_text(published(own.merges));
  }
  report.summary = in_merge ? "no merge within " + time_text(limit_ms) + ": " +
                                  replicas_text(missing) + " did not arrive"
                            : "a run did not end within " + time_text(limit_ms);
  if (!open.empty()) report.summary += "; open: " + open;
  report.expected = in_merge ? "every replica at the merge, within the merge_deadline"
                             : "the end of every replica, within the run_deadline";
  report.hint =
      "look at the last line of the replicas that run their own code: host code waits, loops, or "
      "needs more time than the deadline";
  return failure_of<MergeMismatchError>(std::move(report));
}

Failure run_too_long(const RunFacts& run, std::uint64_t bound) {
  ErrorReport report;
  report.code = ErrorCode::kDeadline;
  report.summary = "a run took more than " + std::to_string(bound) + " steps";
  report.replicas = replica_reports(run);
  for (ReplicaReport& other : report.replicas) {
    const auto& state = run.states[static_cast<std::size_t>(other.replica_id)];
    if (state.status != ReplicaState::Status::kRunning) continue;
    other.what = "goes on " + merges_text(state.merges);
  }
  report.expected = "the end of every replica, within max_steps";
  report.hint = "look for a loop that waits for a value no replica changes, or raise max_steps";
  return failure_of<MergeMismatchError>(std::move(report));
}

// Replicas take turns: outside merges and before its end, a replica waits for its turn.
Failure replica_stalled(const RunFacts& run, int replica, std::uint64_t rounds,
                        std::uint32_t limit_ms) {
  ErrorReport report;
  report.code = ErrorCode::kReplicaStalled;
  report.summary =
      "replica " + std::to_string(replica) + " took no step for " + time_text(limit_ms);
  report.replicas = replica_reports(run);
  for (ReplicaReport& other : report.replicas) {
    const ReplicaState& state = run.states[static_cast<std::size_t>(other.replica_id)];
    const bool is_past_merge =
        state.status == ReplicaState::Status::kArrived && state.merges <= rounds;
    if (is_past_merge || state.status == ReplicaState::Status::kRunning) {
      other.what = "waits for its turn " + merges_text(state.merges);
    }
  }
  report.expected = kExpectedWithoutStall;
  report.hint = kHintAtStall;
  return failure_of<MergeMismatchError>(std::move(report));
}

void add_abandoned(const ReplicaStates& states, ErrorReport& report) {
  for (const ReplicaState& state : states) {
    if (state.status != ReplicaState::Status::kAbandoned) continue;
    report.replicas.push_back(
        {states.id_of(state),
         state.last_site,
         "was abandoned: it swallowed its cancellation " + std::to_string(kPatience) + " times",
         {}});
  }
}

}  // namespace belfry::detail
