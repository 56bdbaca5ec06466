// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/group_waits.h"

#include "belfry/detail/group_point.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

const MergeRequest* waits_in(const RunFacts& run, int replica) {
  const auto place = static_cast<std::size_t>(replica);
  const bool waits = run.states[place].status == ReplicaState::Status::kArrived;
  return waits ? run.requests[place] : nullptr;
}

bool same_members(const MergeRequest& a, const MergeRequest& b) {
  if (a.group == nullptr || b.group == nullptr) return a.group == b.group;
  return *a.group == *b.group;
}

Failure failure_of(ErrorReport report) {
  std::exception_ptr error = std::make_exception_ptr(MergeMismatchError(report));
  return {std::move(error), std::move(report)};
}

// A chain of replicas: each waits for the next. The last replica waits for the replica at position
// `circle_at`; -1: the last replica does not wait.
struct Chain {
  std::vector<int> replicas;
  std::ptrdiff_t circle_at = -1;
};

Chain chain_from(const RunFacts& run, int replica) {
  Chain chain;
  for (;;) {
    const auto seen = std::ranges::find(chain.replicas, replica);
    if (seen != chain.replicas.end()) {
      chain.circle_at = seen - chain.replicas.begin();
      return chain;
    }
    chain.replicas.push_back(replica);
    if (waits_in(run, replica) == nullptr) return chain;
    replica = first_missing(run, replica);
  }
}

Failure member_missing(const RunFacts& run, const MergeRequest& request) {
  if (request.group == nullptr) return merge_missing(run);
  ErrorReport report;
  report.code = ErrorCode::kMergeMissing;
  report.summary = "some replicas of " + text_of_group(*request.group) +
                   " ended without a merge that others of it wait in";
  report.replicas = reports_of(run, members_of(request, run.present));
  report.expected = "every member reaches the same merges of the group in the same order";
  report.hint =
      "take merges of the group out of branches and loops whose length differs between members, or "
      "make groups of the replicas that come";
  return failure_of(std::move(report));
}

bool has(const MergeRequest& request, int replica) {
  return request.group == nullptr || request.group->has(replica);
}

// Two replicas at the same line are both in the groups of both. Groups of two axes would share a
// single replica.
bool describe_differently(const RunFacts& run, const std::vector<int>& circle) {
  if (circle.size() != 2) return false;
  const MergeRequest& first = *waits_in(run, circle[0]);
  const MergeRequest& second = *waits_in(run, circle[1]);
  return first.group != nullptr && second.group != nullptr && has(first, circle[1]) &&
         has(second, circle[0]) && same_place(first.site, second.site);
}

Failure circle_of_waits(const RunFacts& run, std::vector<int> circle) {
  std::ranges::rotate(circle, std::ranges::min_element(circle));
  ErrorReport report;
  report.code = ErrorCode::kMergePlaces;
  std::string waits;
  std::vector<int> members = circle;
  for (std::size_t i = 0; i < circle.size(); ++i) {
    const std::string next = std::to_string(circle[(i + 1) % circle.size()]);
    waits += (i == 0 ? "replica " : ", ") + std::to_string(circle[i]) + " waits for " + next;
  }
  std::ranges::sort(members);
  report.replicas = reports_of(run, Participants(run.present.replicas(), members));
  for (ReplicaReport& one : report.replicas) {
    one.what += ", for replica " + std::to_string(first_missing(run, one.replica_id));
  }
  if (describe_differently(run, circle)) {
    report.summary = "replicas describe their group differently: " + waits;
    report.expected = "groups with the same members on every member";
    report.hint = "make the groups once, outside the replica function, with strategy.groups";
  } else {
    report.summary = "replicas wait for one another in groups: " + waits;
    report.expected = "the merges of several groups in an order that all their members follow";
    report.hint = "use the groups in the same order on every replica";
  }
  return failure_of(std::move(report));
}

}  // namespace

Participants members_of(const MergeRequest& request, const Participants& present) {
  if (request.group == nullptr) return present;
  if (present.is_all()) return *request.group;
  std::vector<int> ids;
  for (int i = 0; i < request.group->count(); ++i) {
    if (present.has(request.group->id(i))) ids.push_back(request.group->id(i));
  }
  return {present.replicas(), std::move(ids)};
}

int first_missing(const RunFacts& run, int replica) {
  const MergeRequest& own = *waits_in(run, replica);
  const Participants& members = own.group == nullptr ? run.present : *own.group;
  for (int i = 0; i < members.count(); ++i) {
    const int member = members.id(i);
    if (!run.present.has(member)) continue;
    const MergeRequest* const other = waits_in(run, member);
    if (other == nullptr || !same_members(own, *other)) return member;
  }
  return -1;
}

bool waits_in_group(const RunFacts& run) {
  return std::ranges::any_of(run.states, [&](const ReplicaState& replica) {
    const MergeRequest* const request = waits_in(run, run.states.id_of(replica));
    return request != nullptr && request->group != nullptr;
  });
}

std::vector<Participants> ready_groups(const RunFacts& run, const Participants& own) {
  std::vector<Participants> groups;
  for (const ReplicaState& replica : run.states) {
    const int id = run.states.id_of(replica);
    const MergeRequest* const request = waits_in(run, id);
    if (request == nullptr || request->group == nullptr || !is_within(*request->group, own))
      continue;
    // Usually all replicas take part, and the lowest member alone copies the members.
    if (run.present.is_all() && request->group->id(0) != id) continue;
    if (first_missing(run, id) >= 0) continue;
    Participants members = members_of(*request, run.present);
    if (members.id(0) == id) groups.push_back(std::move(members));
  }
  return groups;
}

Failure groups_wait(const RunFacts& run) {
  for (const ReplicaState& replica : run.states) {
    if (replica.status != ReplicaState::Status::kArrived) continue;
    Chain chain = chain_from(run, run.states.id_of(replica));
    if (chain.circle_at >= 0) {
      chain.replicas.erase(chain.replicas.begin(), chain.replicas.begin() + chain.circle_at);
      return circle_of_waits(run, std::move(chain.replicas));
    }
    const int last = chain.replicas[chain.replicas.size() - 2];
    return member_missing(run, *waits_in(run, last));
  }
  return merge_missing(run);
}

}  // namespace belfry::detail
