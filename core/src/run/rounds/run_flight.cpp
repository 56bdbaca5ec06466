// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/run_flight.h"

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/group_point.h"

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

using Status = ReplicaState::Status;

const char* state_of(Status status) {
  switch (status) {
    case Status::kArrived:
    case Status::kSeeking:
    case Status::kMaking:
      return "waiting";
    case Status::kEnded:
    case Status::kAbsent:
      return "ended";
    case Status::kThrew:
    case Status::kCancelled:
    case Status::kAbandoned:
      return "failed";
    default:
      return "running";
  }
}

}  // namespace

FlightValues RunFlight::values_of(const MergeRequest& request) {
  FlightValues values;
  if (request.type->variable != nullptr) values.variable = request.type->variable(request) + 1;
  if (request.type->execute == &execute_all_reduce) {
    const auto& own = static_cast<const AllReduceRequest&>(request);
    values.op = own.op;
    values.tensors = own.leaves.size();
    if (!own.leaves.empty() && own.leaves.front().own == nullptr) {
      values.dtype = own.leaves.front().dtype;
      values.count = own.leaves.front().count;
    }
  }
  return values;
}

// The members of the merge.
FlightGroup& RunFlight::group_of(const MergeRequest& request) const noexcept {
  if (request.group == nullptr) return group_;
  try {
    std::vector<int> ranks;
    for (int i = 0; i < request.group->count(); ++i) {
      const int id = request.group->id(i);
      ranks.push_back(group_.size > 0 ? group_.own.front() + id - core_.first_replica()
                                      : group_.own[static_cast<std::size_t>(id)]);
    }
    return ring_.part(group_, text_of_group(*request.group), std::move(ranks));
  } catch (const std::bad_alloc&) {  // An entry of all replicas is better than none.
    return group_;
  }
}

void RunFlight::begin_in_group(const MergeRequest& first, const char* verb,
                               const Participants& present) noexcept {
  ticket_ = ring_.begin(group_of(first), verb, first.site);
  if (first.type->kind != MergeKind::kMergeCall) ring_.set_values(ticket_, values_of(first));
  for (int i = 0; i < present.count(); ++i) {
    ++in_groups_[static_cast<std::size_t>(core_.device_position(present.id(i)))];
  }
}

// Requests lie on the stacks of replicas: only code of the run may read a request.
void RunFlight::show(std::vector<FlightRank>& ranks) const {
  const CurrentContext* const context = current_context();
  const bool is_own = context != nullptr && context->strategy == &core_;
  std::size_t position = 0;
  for (const ReplicaState& replica : states_) {
    const Status status = published(replica.status);
    FlightRank rank;
    const bool in_wait = status == Status::kRunning && ring_.is_waiting(static_cast<int>(position));
    rank.rank = group_.own[position];
    rank.state = in_wait ? "waiting" : state_of(status);
    if (in_wait) rank.in = "a wait for a device";
    rank.site = {published(replica.last_site.file), published(replica.last_site.line)};
    if (status == Status::kArrived) {
      const MergeRequest* const request =
          is_own ? requests_[static_cast<std::size_t>(states_.id_of(replica))] : nullptr;
      rank.in = is_own ? to_string(request->type->kind) : "a merge";
      if (is_own && published(replica.merges) > begun_ + in_groups_[position]) {
        rank.scheduled = &group_of(*request);
        rank.values = values_of(*request);
      }
    }
    ranks.push_back(rank);
    ++position;
  }
}

}  // namespace belfry::detail
