// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/hang.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace belfry::tool::hangs {
namespace {

// The number of an entry on a rank; none without an entry of the call.
std::optional<std::int64_t> record_of(const Job& job, int rank, const CallId& call) {
  const Track* const track = job.groups[call.group].track(rank);
  const Entry* const entry = track == nullptr ? nullptr : track->at(call);
  if (entry == nullptr) return std::nullopt;
  return entry->record;
}

// The ranks with the first call before the second: members of both groups, with an earlier entry of
// the first call, or without an entry of the second.
std::vector<int> ranks_with_first(const Job& job, const CallId& one, const CallId& other) {
  std::vector<int> ranks;
  for (const Track& track : job.groups[one.group].tracks) {
    if (job.groups[other.group].track(track.rank) == nullptr) continue;
    const auto first = record_of(job, track.rank, one);
    const auto second = record_of(job, track.rank, other);
    if (first.has_value() && (!second.has_value() || *first < *second)) ranks.push_back(track.rank);
  }
  return ranks;
}

// The calls without an earlier call in the set, as far as a rank shows the order.
std::vector<CallId> first_of(const Job& job, const std::set<CallId>& calls) {
  std::vector<CallId> first;
  for (const CallId& call : calls) {
    const bool later = std::any_of(calls.begin(), calls.end(), [&](const CallId& other) {
      if (other == call) return false;
      if (other.group == call.group) return other < call;
      return !ranks_with_first(job, other, call).empty() &&
             ranks_with_first(job, call, other).empty();
    });
    if (!later) first.push_back(call);
  }
  return first.empty() ? std::vector<CallId>{*calls.begin()} : first;
}

void set_calls(const Job& job, const std::set<CallId>& calls, Finding& finding) {
  const std::vector<CallId> first = first_of(job, calls);
  finding.call = first.front();
  finding.more_calls.assign(first.begin() + 1, first.end());
}

std::vector<Finding> divergences(const Job& job) {
  std::map<CallId, Finding> found;
  std::set<CallId> calls;
  for (std::size_t group = 0; group < job.groups.size(); ++group) {
    std::optional<Divergence> divergence = first_divergence(job, group);
    if (!divergence.has_value()) continue;
    calls.insert(divergence->call);
    found[divergence->call] = {.kind = FindingKind::kDivergent,
                               .call = divergence->call,
                               .ranks = divergence->ranks,
                               .is_tie = !divergence->has_majority,
                               .divergence = divergence};
  }
  std::vector<Finding> findings;
  while (!calls.empty()) {
    const CallId first = first_of(job, calls).front();
    findings.push_back(std::move(found.at(first)));
    calls.erase(first);
  }
  return findings;
}

// With two calls in the circle, the ranks with the rarer order are named.
Finding circle_finding(const Job& job, std::vector<Wait> circle) {
  Finding finding{.kind = FindingKind::kCircle, .is_tie = true};
  std::set<int> ranks;
  for (const Wait& wait : circle) ranks.insert(wait.rank);
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.call = circle.front().call;
  const CallId one = circle.front().call;
  const CallId other = circle.back().call;
  if (circle.size() == 2 && one.seq != 0 && other.seq != 0 && one.group != other.group) {
    const std::vector<int> with_one = ranks_with_first(job, one, other);
    const std::vector<int> with_other = ranks_with_first(job, other, one);
    finding.is_tie = with_one.size() == with_other.size();
    const bool one_is_usual = with_one.size() > with_other.size();
    if (!finding.is_tie) finding.ranks = one_is_usual ? with_other : with_one;
    finding.call = one_is_usual || finding.is_tie ? one : other;
    finding.more_calls = {finding.call == one ? other : one};
  } else {
    for (std::size_t i = 1; i < circle.size(); ++i) {
      if (circle[i].call != *finding.call) finding.more_calls.push_back(circle[i].call);
    }
  }
  finding.circle = std::move(circle);
  return finding;
}

FindingKind kind_of_end(const Job& job, int rank) {
  for (const Dump& dump : job.dumps) {
    if (dump.rank != rank) continue;
    if (dump.host == HostState::kFailed) return FindingKind::kFailed;
    return dump.host == HostState::kEnded ? FindingKind::kEnded : FindingKind::kBehind;
  }
  return FindingKind::kNoDump;
}

// The awaited ranks without a wait and without an open call.
std::vector<Finding> ends(const Job& job, const Waits& waits) {
  std::map<int, std::set<CallId>> awaited;
  for (const Wait& wait : waits.all()) awaited[wait.for_rank].insert(wait.call);
  std::map<FindingKind, std::pair<std::vector<int>, std::set<CallId>>> found;
  for (const auto& [rank, calls] : awaited) {
    const FindingKind kind = kind_of_end(job, rank);
    if (kind != FindingKind::kNoDump && !waits.open(rank).empty()) continue;
    found[kind].first.push_back(rank);
    found[kind].second.insert(calls.begin(), calls.end());
  }
  std::vector<Finding> findings;
  for (auto& [kind, ranks_and_calls] : found) {
    Finding& finding =
        findings.emplace_back(Finding{.kind = kind, .ranks = std::move(ranks_and_calls.first)});
    set_calls(job, ranks_and_calls.second, finding);
  }
  return findings;
}

// Open calls reached by all ranks.
std::optional<Finding> stall(const Job& job, const Waits& waits) {
  std::set<CallId> calls;
  std::vector<int> ranks;
  for (std::size_t i = 0; i < job.dumps.size(); ++i) {
    const Dump& dump = job.dumps[i];
    if (!waits.of(dump.rank).empty() || waits.open(dump.rank).empty()) continue;
    const Entry* const entry = waits.open(dump.rank).front();
    ranks.push_back(dump.rank);
    calls.insert(job.calls[i][static_cast<std::size_t>(entry - dump.entries.data())]);
  }
  if (calls.empty()) return std::nullopt;
  Finding finding{.kind = FindingKind::kStalled, .ranks = ranks, .is_tie = true};
  set_calls(job, calls, finding);
  return finding;
}

// Takes the findings of the kinds out.
std::vector<Finding> taken(std::vector<Finding>& findings, FindingKind first, FindingKind last) {
  std::vector<Finding> out;
  std::vector<Finding> rest;
  for (Finding& finding : findings) {
    const bool is_of_kinds = finding.kind >= first && finding.kind <= last;
    (is_of_kinds ? out : rest).push_back(std::move(finding));
  }
  findings = std::move(rest);
  return out;
}

// A rank that failed, ended or has no dump is a cause if no call is open in spite of all ranks, and
// if most ranks have dumps. Beside a slow rank, a missing dump is not enough: the slow rank may be
// the cause.
void decide(const Job& job, std::vector<Finding> findings, Hang& hang) {
  using K = FindingKind;
  const bool few = 2 * job.without_dump.size() > static_cast<std::size_t>(job.ranks);
  const bool stalls = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.kind == K::kStalled;
  });
  hang.causes = taken(findings, K::kDivergent, K::kDivergent);
  if (hang.causes.empty()) hang.causes = taken(findings, K::kCircle, K::kCircle);
  if (hang.causes.empty() && !stalls) hang.causes = taken(findings, K::kFailed, K::kEnded);
  if (hang.causes.empty() && findings.size() == 1 && !few) {
    hang.causes = taken(findings, K::kNoDump, K::kNoDump);
  }
  hang.verdict = Verdict::kNamed;
  if (hang.causes.empty()) {
    hang.verdict = findings.empty() ? Verdict::kNothing : Verdict::kUndecided;
    hang.causes = std::exchange(findings, {});
  }
  hang.more = std::move(findings);
}

std::vector<std::string> notes_of(const Job& job) {
  std::vector<std::string> notes;
  for (const Dump& dump : job.dumps) {
    if (!dump.is_cut()) continue;
    notes.push_back(
        fmt::format("the ring of rank {} begins with its operation {}: older ones are "
                    "overwritten",
                    dump.rank, dump.entries.front().record));
  }
  for (const Group& group : job.groups) {
    if (!has_common_window(group)) {
      notes.push_back("no two rings have a common call of " + group.words() +
                      ": its calls were not compared");
    }
    if (!group.members_known) {
      std::vector<int> ranks;
      for (const Track& track : group.tracks) ranks.push_back(track.rank);
      notes.push_back("the members of " + group.words() + " are not in the dumps; " + words(ranks) +
                      " made calls");
    }
  }
  if (!job.without_dump.empty()) {
    notes.push_back("there is no dump of " + words(job.without_dump));
  }
  return notes;
}

}  // namespace

Hang hang_of(const Job& job, const Waits& waits) {
  std::vector<Finding> findings = divergences(job);
  const bool diverges = !findings.empty();
  for (std::vector<Wait>& circle : circles(waits, job.ranks)) {
    findings.push_back(circle_finding(job, std::move(circle)));
  }
  for (Finding& finding : ends(job, waits)) findings.push_back(std::move(finding));
  std::optional<Finding> stalled = stall(job, waits);
  if (stalled.has_value() && !diverges) findings.push_back(std::move(*stalled));
  Hang hang{.notes = notes_of(job)};
  decide(job, std::move(findings), hang);
  return hang;
}

std::string to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::kDivergent:
      return "divergent";
    case FindingKind::kCircle:
      return "circle";
    case FindingKind::kFailed:
      return "failed";
    case FindingKind::kEnded:
      return "ended";
    case FindingKind::kNoDump:
      return "no dump";
    case FindingKind::kBehind:
      return "behind";
    case FindingKind::kStalled:
      return "stalled";
  }
  return {};
}

}  // namespace belfry::tool::hangs
