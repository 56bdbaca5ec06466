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

// The merge of a group: the members are the replicas of the context. If all are replicas of this
// process, the process works alone, and the members are those of reductions.
class GroupScope {
 public:
  GroupScope(StrategyCore& core, CurrentContext& context, const Participants& members)
      : core_(core), context_(context), outer_acting_(&core.members()) {
    const bool is_here = is_within(members, core.own());
    if (is_here && !core.members().is_alone()) core.set_acting(&alone_.emplace(core.size()));
    outer_ = core.reductions().enter_group(is_here ? &members : nullptr);
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
    if (has_failed() || !waits_for_others()) {
      is_making ? serve_maker() : serve_seekers();
      return Settled::kResumed;
    }
    if (is_sought_made()) {
      executor_.open(seekers_);
      return Settled::kResumed;
    }
  }
  if (!has_failed()) {
    const bool in_group = groups_.any() && waits_in_group({states_, requests_, present_});
    if (ended == 0 && is_noted_ && !in_group) enter_round();
    if (const ReplicaState* const thrower = states_.find(Status::kThrew)) {
      fail_by(*thrower);
    } else if (!has_failed() && in_group && core().members().is_alone()) {
      fail_in_groups();
    } else if (!has_failed() && agree()) {
      ended == 0 ? merge_round(present_, functions_) : fail_without_merge();
    } else if (!has_failed()) {
      return Settled::kResumed;  // Members of groups go on.
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
    const auto merge = [this](const Participants& members) { return merge_group(members); };
    const FunctionRef<bool(const Participants&)> merge_group_here(merge);
    const RunFacts own{.states = states_,
                       .requests = requests_,
                       .present = present_,
                       .cross = &cross_current_,
                       .merge_group = &merge_group_here};
    return core().members().agree(own, site_);
  } catch (...) {
    fail_with_members(std::current_exception());
    return false;
  }
}

void ReplicaRunner::open_all() {
  executor_.open(gate_);
  executor_.open(seekers_);
  executor_.open(maker_);
  if (!groups_.any()) return;
  for (const ReplicaState& replica : states_) {
    executor_.open(groups_.gate(core().size(), states_.id_of(replica)));
  }
}

bool ReplicaRunner::waits_for_others() {
  return groups_.any() && std::ranges::any_of(states_, [this](const ReplicaState& replica) {
           if (!has_arrived(replica)) return false;
           const Participants* const group = request_of(states_.id_of(replica))->group;
           return group != nullptr && !is_within(*group, core().own());
         });
}

// Executes the merge of each group of this process with all members present, the group with the
// lowest member first. All replicas stand still meanwhile: the choice of groups does not depend on
// the schedule. Returns whether some replicas go on.
bool ReplicaRunner::merge_groups() {
  const std::vector<Participants> groups =
      ready_groups({states_, requests_, present_}, core().own());
  for (const Participants& members : groups) {
    if (!merge_group(members)) return true;
  }
  return !groups.empty();
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

bool ReplicaRunner::merge_group(const Participants& members) {
  std::optional<Participants> part;
  if (!is_within(members, core().own())) {
    std::vector<int> ids;
    for (int i = 0; i < members.count(); ++i) {
      if (core().own().has(members.id(i))) ids.push_back(members.id(i));
    }
    part.emplace(core().own(), std::move(ids));
  }
  const Participants& here = part ? *part : members;
  if (max_steps_ != 0) count_steps(static_cast<std::uint64_t>(here.count()));
  if (has_failed()) return false;
  const GroupScope scope(core(), cross_current_, members);
  merge_round(here, here.has(functions_) ? functions_ : here.id(0));
  // The highest member first: the queue of the scheduler has the lowest at its end.
  for (int i = here.count() - 1; !has_failed() && i >= 0; --i) {
    executor_.open(groups_.gate(core().size(), here.id(i)));
  }
  return !has_failed();
}

}  // namespace belfry::detail
