// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The failures of a run: the failure that counts, and the way replicas hear of the failure. The
// texts are in run_report.cpp.
#include "belfry/detail/flight_ring.h"
#include "belfry/replica_context.h"
#include "run/rounds/exception_text.h"
#include "run/rounds/group_waits.h"
#include "run/rounds/replica_runner.h"
#include "run/rounds/run_flight.h"
#include "run/rounds/run_report.h"

#include <algorithm>
#include <new>
#include <utility>

namespace belfry::detail {

// If memory runs out in `describe`, the failure is `thrown` without a report, or std::bad_alloc if
// `thrown` is null.
template <class Describe>
void ReplicaRunner::fail(const std::exception_ptr& thrown, const Describe& describe) noexcept {
  try {
    Failure failure = describe(
        RunFacts{states_, requests_, present_, core().backend().run_settings().kernel_failures});
    if (flight_ != nullptr && !has_failed()) flight_->fail(failure.report);
    primary_ = std::move(failure.exception);
    core().last_failure() = std::move(failure.report);
  } catch (...) {
    primary_ = thrown != nullptr ? thrown : std::current_exception();
    core().last_failure().reset();
  }
  set_failed();
}

void ReplicaRunner::fail_without_merge() {
  blamed_ = core().size();
  fail(nullptr, merge_missing);
}

void ReplicaRunner::fail_in_groups() {
  blamed_ = core().size();
  fail(nullptr, groups_wait);
}

void ReplicaRunner::fail_with_mismatch(const Participants& present) {
  blamed_ = core().size();
  fail(nullptr, [&](const RunFacts& run) {
    return merge_mismatch({run.states, run.requests, present}, rounds_ + 1);
  });
}

void ReplicaRunner::fail_in_merge(const MergeRequest& first, const std::exception_ptr& thrown) {
  fail(thrown, [&](const RunFacts& run) {
    return merge_threw(run, rounds_, first, core().members().completed(thrown));
  });
}

void ReplicaRunner::fail_by(const ReplicaState& thrower) {
  blamed_ = states_.id_of(thrower);
  fail(thrower.exception, [&](const RunFacts& run) { return replica_threw(run, thrower); });
}

// A replica may merge in a destructor while its own exception unwinds the replica. The exception
// was thrown before the other replicas failed to meet, and outranks their failure. The exception
// comes out of the replica only during the unwinding of the failed run.
void ReplicaRunner::fail_by_hidden_exception() {
  const auto hidden = std::ranges::find_if(states_, [](const ReplicaState& replica) {
    return replica.status == ReplicaState::Status::kThrew && replica.was_throwing;
  });
  if (hidden == states_.end() || states_.id_of(*hidden) >= blamed_) return;
  blamed_ = states_.id_of(*hidden);
  fail(hidden->exception, [&](const RunFacts& run) {
    return replica_had_thrown(run, *hidden, core().last_failure());
  });
}

void ReplicaRunner::fail_for_seekers() { fail(nullptr, variable_missing); }

// Known only after the end of all replicas. The damage may be the cause of an earlier failure, and
// outranks all failures.
void ReplicaRunner::fail_by_overflow(const std::exception_ptr& thrown) {
  fail(thrown, [&](const RunFacts& run) { return stack_overflowed(run, thrown); });
}

// The report has the replicas of all processes already.
void ReplicaRunner::fail_with_members(const std::exception_ptr& thrown) {
  blamed_ = core().size();
  fail(thrown, [&](const RunFacts&) { return Failure{thrown, report_of(thrown)}; });
}

void ReplicaRunner::fail_unless_variables_agree(const Participants& present) {
  try {
    variables_.require_equal_counts(present);
  } catch (...) {
    const std::exception_ptr thrown = std::current_exception();
    fail(thrown, [&](const RunFacts&) { return variables_differ(thrown); });
  }
}

void ReplicaRunner::deadlock(const std::vector<int>& blocked) noexcept {
  if (has_failed()) return;
  fail(nullptr, [&](const RunFacts& run) { return run_deadlock(run, blocked.size()); });
}

// The exception of a replica that threw outranks the stall, which may be a consequence: the next
// `settle` finds the exception.
void ReplicaRunner::stalled(int position, std::uint32_t limit_ms) noexcept {
  const int replica = core().first_replica() + position;
  state(replica).status = ReplicaState::Status::kStalled;
  if (has_failed() || states_.find(ReplicaState::Status::kThrew) != nullptr) return;
  fail(nullptr,
       [&](const RunFacts& run) { return replica_stalled(run, replica, rounds_, limit_ms); });
}

void ReplicaRunner::late(bool in_merge, std::int64_t limit_ms) noexcept {
  if (has_failed()) return;
  blamed_ = core().size();
  fail(nullptr, [&](const RunFacts& run) {
    const std::string open = flight_ == nullptr ? "" : core().flights()->open_calls();
    return run_late(run, in_merge, limit_ms, open);
  });
}

// All replicas of the process have arrived.
void ReplicaRunner::enter_round() noexcept {
  if (has_failed()) return;
  if (max_steps_ != 0) count_steps(static_cast<std::uint64_t>(present_.count()));
  if (flight_ == nullptr || !flight_->has_others()) return;
  const MergeRequest& first = *requests_[static_cast<std::size_t>(present_.id(0))];
  flight_->begin(first, to_string(first.type->kind));
}

void ReplicaRunner::count_steps(std::uint64_t steps) noexcept {
  const std::uint64_t all = steps_.fetch_add(steps) + steps;
  if (all <= max_steps_ || has_failed()) return;
  fail(nullptr, [&](const RunFacts& run) { return run_too_long(run, max_steps_); });
}

// Abandoned replicas are known only after the run, and are then added to its report. Without memory
// for them the report is dropped.
void ReplicaRunner::report_abandoned() noexcept {
  std::optional<ErrorReport>& report = core().last_failure();
  try {
    if (report) add_abandoned(states_, *report);
  } catch (const std::bad_alloc&) {
    report.reset();
  }
}

void ReplicaRunner::refuse(int replica) {
  ReplicaState& own = state(replica);
  // An exception in flight before the first cancellation is the replica's own.
  if (own.swallowed == 0) own.was_throwing = std::uncaught_exceptions() > 0;
  if (++own.swallowed > kPatience) {
    publish(own.status, ReplicaState::Status::kAbandoned);
    executor_.abandon();
  }
  throw ReplicaCancelled{};
}

// Destructors may wait for tensors, and cannot let an exception out.
void ReplicaRunner::refuse_work(const CurrentContext& context) {
  if (!is_being_unwound()) refuse(context.replica->replica_id());
}

// Apart, for the text would be a part of the frame of every body.
[[gnu::noinline]] void ReplicaRunner::announce_throw(int replica) noexcept {
  const ReplicaState& own = state(replica);
  const bool cancelled = own.status == ReplicaState::Status::kCancelled;
  const std::string text = text_if_possible(own.exception);
  executor_.announce({.kind = OperationKind::kThrow,
                      .agent = agent_of(replica),
                      .subject = own.merges,
                      .value = ordinal_,
                      .name = cancelled ? std::string_view("cancelled") : text});
}

}  // namespace belfry::detail
