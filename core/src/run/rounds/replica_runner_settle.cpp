// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// No replica can go on: the next merges, of all replicas or of groups.
#include "run/rounds/group_waits.h"
#include "run/rounds/replica_runner.h"
#include "run/rounds/run_report.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

using Status = ReplicaState::Status;

bool has_arrived(const ReplicaState& replica) { return replica.status == Status::kArrived; }

// The merge of a group: the members are the replicas of reductions and of the context, and the
// process works alone.
class GroupScope {
 public:
  GroupScope(StrategyCore& core, CurrentContext& context, const Participants& members)
      : core_(core), context_(context), outer_acting_(&core.members()) {
    if (!core.members().is_alone()) core.set_acting(&alone_.emplace(core.size()));
    outer_ = core.reductions().enter_group(&members);
    context.group = &members;
  }
  GroupScope(const GroupScope&) = delete;
  GroupScope& operator=(const GroupScope&) = delete;
  ~GroupScope() {
    context_.group = nullptr;
    core_.set_acting(outer_acting_);
    core_.reductions().enter_group(outer_);
  }

 private:
  StrategyCore& core_;
  CurrentContext& context_;
  std::optional<RoundMembers> alone_;
  const Participants* outer_ = nullptr;
  RoundMembers* outer_acting_;
};

}  // namespace

Job::Settled ReplicaRunner::settle() noexcept {
  // Usually all replicas have arrived: the test is faster than a count of each status.
  if (!std::ranges::all_of(states_, has_arrived) || groups_.any()) return settle_some();
  if (is_noted_) [[unlikely]]
    enter_round();
  if (!has_failed() && agree()) merge_round(present_, functions_);
  executor_.open(gate_);
  return Settled::kResumed;
}

Job::Settled ReplicaRunner::settle_some() {
  std::size_t arrived = 0;
  std::size_t ended = 0;
  std::size_t seeking = 0;
  std::size_t absent = 0;
  for (const ReplicaState& replica : states_) {
    absent += replica.status == Status::kAbsent ? 1 : 0;
    seeking += replica.status == Status::kSeeking ? 1 : 0;
    arrived += has_arrived(replica) || replica.status == Status::kMaking ? 1 : 0;
    ended += replica.status >= Status::kEnded ? 1 : 0;
  }
  if (ended + absent == states_.size()) {
    finish();
    announce_end_of_run();
    return Settled::kFinished;
  }
  if (arrived + ended + seeking + absent < states_.size()) return Settled::kWaiting;
  if (groups_.any() && merge_ready_groups()) return Settled::kResumed;
  const bool is_making = states_.find(Status::kMaking) != nullptr;
  if (is_making || seeking > 0) {
    is_making ? serve_maker() : serve_seekers();
    return Settled::kResumed;
  }
  if (!has_failed()) {
    if (ended == 0 && is_noted_) enter_round();
    if (const ReplicaState* const thrower = states_.find(Status::kThrew)) {
      fail_by(*thrower);
    } else if (!has_failed() && groups_.any() && waits_in_group()) {
      fail_in_groups();
    } else if (!has_failed() && agree()) {
      ended == 0 ? merge_round(present_, functions_) : fail_without_merge();
    }
  }
  open_all();
  return Settled::kResumed;
}

// All replicas have ended. In a failed run, only an exception that came out of a merge afterwards
// is missing in the report.
void ReplicaRunner::finish() {
  if (has_failed()) return fail_by_hidden_exception();
  if (const ReplicaState* const thrower = states_.find(Status::kThrew)) return fail_by(*thrower);
  if (variables_.any()) fail_unless_variables_agree(present_);
  agree();
}

bool ReplicaRunner::agree() {
  try {
    const RunFacts own{
        .states = states_, .requests = requests_, .present = present_, .cross = &cross_current_};
    return core().members().agree(own, rounds_ + 1, site_);
  } catch (...) {
    fail_with_members(std::current_exception());
    return false;
  }
}

void ReplicaRunner::open_all() {
  executor_.open(gate_);
  if (!groups_.any()) return;
  for (const ReplicaState& replica : states_) {
    executor_.open(groups_.gate(core().size(), states_.id_of(replica)));
  }
}

bool ReplicaRunner::waits_in_group() const {
  return std::ranges::any_of(states_, [this](const ReplicaState& replica) {
    return has_arrived(replica) && request_of(states_.id_of(replica))->group != nullptr;
  });
}

// Executes the merge of each group with all members present, the group with the lowest member
// first, and lets the members go on. All replicas stand still meanwhile: the choice of groups does
// not depend on the schedule. Returns whether some replicas go on.
bool ReplicaRunner::merge_groups() {
  const RunFacts run{.states = states_, .requests = requests_, .present = present_};
  bool any = false;
  for (const ReplicaState& replica : states_) {
    const int id = states_.id_of(replica);
    if (!has_arrived(replica) || request_of(id)->group == nullptr) continue;
    if (present_.is_all() && request_of(id)->group->id(0) != id) continue;
    if (first_missing(run, id) >= 0) continue;
    const Participants members = members_of(*request_of(id), present_);
    if (members.id(0) != id) continue;
    merge_group(members);
    if (has_failed()) return true;
    // The highest member first: the queue of the scheduler has the lowest at its end.
    for (int i = members.count() - 1; i >= 0; --i) {
      executor_.open(groups_.gate(core().size(), members.id(i)));
    }
    any = true;
  }
  return any;
}

bool ReplicaRunner::merge_ready_groups() noexcept {
  if (has_failed() || states_.find(Status::kThrew) != nullptr) return false;
  bool any = true;
  try {
    any = merge_groups();
  } catch (...) {
    fail_with_members(std::current_exception());  // Memory ran out.
  }
  if (has_failed()) open_all();
  return any;
}

void ReplicaRunner::merge_group(const Participants& members) {
  if (max_steps_ != 0) count_steps(static_cast<std::uint64_t>(members.count()));
  if (has_failed()) return;
  const GroupScope scope(core(), cross_current_, members);
  merge_round(members, members.has(functions_) ? functions_ : members.id(0));
}

}  // namespace belfry::detail
