// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/replica_runner.h"

#include "backend/carrier.h"
#include "belfry/backend/current_slot.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/machine_uses.h"
#include "belfry/detail/step_tap.h"
#include "belfry/detail/variable_state.h"
#include "belfry/replica_context.h"
#include "run/rounds/exception_text.h"
#include "run/rounds/leaving_run.h"
#include "run/rounds/rendezvous.h"
#include "run/rounds/run_flight.h"
#include "run/rounds/run_report.h"
#include "words/with_report.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::detail {
namespace {

using Status = ReplicaState::Status;

// The current context, read without a call: every merge needs the context.
const CurrentContext* context_on_carrier() {
  const Unwatched unwatched;
  return static_cast<const CurrentContext*>(current.context);
}

// The replica with the merge functions that run. If the wanted replica is absent, the first
// participant.
int functions_of(StrategyCore& core, const Participants& present) {
  const int wanted = core.backend().run_settings().functions_of;
  return wanted < present.replicas() && present.has(wanted) ? wanted : present.id(0);
}

}  // namespace

void run_with_members(RoundMembers& members, FunctionRef<void()> work,
                      FunctionRef<RunCulprit()> culprit) {
  members.begin_run();
  try {
    work();
  } catch (...) {
    const RunCulprit told = culprit();
    const std::exception_ptr cause =
        members.tell_failure(std::current_exception(), told.replica, told.site);
    members.end_run();
    std::rethrow_exception(cause);
  }
  members.end_run();
}

void run_replicas(StrategyCore& core, CrossReplicaContext& cross,
                  FunctionRef<void(ReplicaContext&)> function, const Participants& present,
                  const RunOptions& options) {
  if (present.count() > 0) [[likely]] {
    return ReplicaRunner(core, cross, function, present).run(options);
  }
  if (core.members().is_alone()) throw_nobody_takes_part(options.site);
  listen_to_run(core, cross, options);
}

// The work of a hook of the strategy: the replicas of a run, or the merge of a round.
class ReplicaRunner::HookStep final : public StrategyStep {
 public:
  HookStep(ReplicaRunner& runner, Hook hook, const char* what, CallSite site, const MergeTag* tag,
           FunctionRef<void()> work)
      : StrategyStep(what, site, runner.nested_),
        depths_(runner.core().hook_depth()),
        hook_(hook),
        tag_(tag),
        work_(work) {}

  const MergeTag* tag() const { return tag_; }

  // `call` calls the hook.
  template <class F>
  void take_to(const F& call) {
    const HookDepth::Call depth(depths_, hook_, site());
    try {
      call();
    } catch (...) {
      rethrow_failure();
      throw;
    }
    finish();
  }

 private:
  void work() override {
    const HookDepth::Pause pause(depths_, hook_);
    work_();
  }

  HookDepth& depths_;
  Hook hook_;
  const MergeTag* tag_;
  FunctionRef<void()> work_;
};

const MergeTag* tag_of(const StrategyStep& step) {
  const auto* own = dynamic_cast<const ReplicaRunner::HookStep*>(&step);
  return own == nullptr ? nullptr : own->tag();
}

ReplicaRunner::ReplicaRunner(StrategyCore& core, CrossReplicaContext& cross,
                             FunctionRef<void(ReplicaContext&)> function, Participants present)
    : MergePoint(core),
      cross_(cross),
      function_(function),
      present_(std::move(present)),
      functions_(functions_of(core, present_)),
      executor_(core.backend().executor()),
      variables_(core.size(), present_.id(0)),
      states_(core.own().count(), core.first_replica()),
      requests_(static_cast<std::size_t>(core.size())),
      cross_current_(core.cross_context(cross)) {
  if (core.requires_names()) unnamed_.emplace(core.size());
}

void ReplicaRunner::run(const RunOptions& options) {
  const StrategyCore::RunLock lock(core(), options.site);
  note_run(executor_);
  ordinal_ = ++core().statistics().runs;
  if (current_context() != nullptr) rules_ = current_context()->variables;
  in_update_ = is_inside_update(current_context());
  nested_ = !lock.is_outermost();
  site_ = options.site;
  max_steps_ = core().backend().run_settings().max_steps;
  std::optional<RunFlight> flight;
  if (core().flights() != nullptr) flight_ = &flight.emplace(core(), states_, requests_);
  is_noted_ = max_steps_ != 0 || (flight_ != nullptr && flight_->has_others());
  try {
    if (nested_) core().all_members().require_alone("a run inside a run", options.site);
    const auto work = [&] { carry_out(options); };
    const auto culprit = [&] {
      const bool is_replica = blamed_ >= 0 && blamed_ < core().size();
      const CallSite last = state(is_replica ? blamed_ : present_.id(0)).last_site;
      return RunCulprit{is_replica ? blamed_ : -1, last.empty() ? options.site : last};
    };
    run_with_members(core().members(), work, culprit);
  } catch (...) {
    std::optional<ErrorReport>& last = core().last_failure();
    ErrorReport* const own = has_failed() && last ? &*last : nullptr;
    std::rethrow_exception(
        leaving_run(std::current_exception(), own, core().backend().run_settings(), options.site));
  }
}

void ReplicaRunner::carry_out(const RunOptions& options) {
  CurrentContext here = core().cross_context(cross_);
  const CurrentScope scope(here);
  const SiteScope site(options.site);
  const auto work = [&] { carry(options.concurrent); };
  HookStep step(*this, Hook::kRun, "run", options.site, nullptr, work);
  try {
    step.take_to([&] { core().hooks().do_run(step); });
  } catch (const ReplicaCancelled&) {
    std::rethrow_exception(at_site(stray_cancellation("do_run"), options.site));
  }
}

void ReplicaRunner::carry(bool concurrent) {
  try {
    executor_.carry(core().own().count(), *this,
                    {.concurrent = concurrent, .first_replica = core().first_replica()});
  } catch (const DeviceError& error) {
    if (error.code() != ErrorCode::kStackOverflow) throw;
    fail_by_overflow(std::current_exception());
  }
  if (primary_ == nullptr) return;
  report_abandoned();
  std::rethrow_exception(primary_);
}

void ReplicaRunner::begin() noexcept {
  begin_phase();
  executor_.announce({.kind = OperationKind::kRunBegin,
                      .agent = {AgentId::Kind::kMerge, 0},
                      .subject = static_cast<std::uint64_t>(core().own().count()),
                      .value = ordinal_,
                      .site = site_});
}

void ReplicaRunner::body(int position) noexcept {
  const int replica = core().first_replica() + position;
  if (!present_.has(replica)) {
    publish(state(replica).status, Status::kAbsent);
    return;
  }
  // Only after a stall: every other failure comes after the start of all bodies.
  if (has_failed()) {
    publish(state(replica).status, Status::kCancelled);
    return;
  }
  ReplicaContext context(*this, replica);
  CurrentContext current;
  current.strategy = &core();
  current.replica = &context;
  current.backend = &core().backend();
  current.device = core().device_of(replica);
  // The replica's context is the outermost context on its carrier. Its rights follow from the place
  // of the call of `run`.
  current.in_update = in_update_;
  current.variables = rules_;
  current.failure = this;
  ReplicaState& own = state(replica);
  own.context = &current;
  auto ended = Status::kEnded;
  {
    const CurrentScope scope(current);
    try {
      function_(context);
    } catch (const ReplicaCancelled&) {
      ended = has_failed() ? Status::kCancelled : Status::kThrew;
      if (!has_failed()) own.exception = stray_cancellation("a replica");
    } catch (...) {
      ended = Status::kThrew;
      own.exception = std::current_exception();
    }
  }
  publish(own.status, ended);
  if (ended != Status::kEnded) return announce_throw(replica);
  executor_.announce({.kind = OperationKind::kEnd,
                      .agent = agent_of(replica),
                      .subject = own.merges,
                      .value = ordinal_});
}

void ReplicaRunner::announce_end_of_run() noexcept {
  const std::string text = has_failed() ? text_if_possible(primary_) : std::string();
  executor_.announce({.kind = OperationKind::kRunEnd,
                      .failed = has_failed(),
                      .agent = {AgentId::Kind::kMerge, 0},
                      .value = ordinal_,
                      .site = site_,
                      .name = text});
}

void ReplicaRunner::meet(int replica, MergeRequest& request) {
  ReplicaState& own = state(replica);
  // Usually the current context is still the context of the replica's body; if not, see MergePoint.
  if (context_on_carrier() != own.context) [[unlikely]] {
    require_current(replica, request);
  }
  require_alive(replica);
  if (unnamed_) [[unlikely]] {
    unnamed_->reach(replica, request, own.merges + 1);
  }
  publish(own.merges, own.merges + 1);
  // Member by member, as in the store just before: a load that spans both stores waits for them.
  const CallSite site{request.site.file, request.site.line};
  publish(own.last_site.file, site.file);
  publish(own.last_site.line, site.line);
  requests_[static_cast<std::size_t>(replica)] = &request;
  publish(own.status, Status::kArrived);
  // Both announcements share an object: the size of a waiting replica's frames limits the number of
  // frames in a cache.
  Operation operation{.kind = OperationKind::kArrive,
                      .agent = agent_of(replica),
                      .subject = own.merges,
                      .value = ordinal_,
                      .site = site};
  Gate* gate = &gate_;
  if (request.group != nullptr) [[unlikely]] {
    operation.members = static_cast<std::uint16_t>(request.group->count());
    gate = &groups_.gate(core().size(), replica);
  }
  try {
    executor_.block_until(operation, *gate);
  } catch (...) {
    publish(own.status, Status::kRunning);
    throw;
  }
  publish(own.status, Status::kRunning);
  require_alive(replica);
  operation.kind = OperationKind::kResume;
  executor_.announce(operation);
}

void ReplicaRunner::merge_round(const Participants& present, int functions) {
  if (variables_.any()) {
    fail_unless_variables_agree(present);
    if (has_failed()) return;
  }
  if (!belong_together(requests_, present)) [[unlikely]] {
    return fail_with_mismatch(present);
  }
  const std::uint64_t round = ++rounds_;
  core().statistics().merges += 1;
  const MergeRequest& first = *requests_[static_cast<std::size_t>(present.id(0))];
  const bool is_group = first.group != nullptr;
  const char* const verb = to_string(first.type->kind);
  if (flight_ != nullptr) [[unlikely]]
    flight_->start(first, verb, present);
  CurrentScope scope(cross_current_);
  const SiteScope site(first.site);
  const std::string named = first.tag == nullptr && !is_group ? std::string() : name_of(first);
  executor_.announce(
      {.kind = OperationKind::kMerge,
       .members = static_cast<std::uint16_t>(is_group ? cross_current_.group->count() : 0),
       .agent = {AgentId::Kind::kMerge, 0},
       .subject = round,
       .value = ordinal_,
       .site = first.site,
       .name = named.empty() ? std::string_view(verb) : named});
  const auto work = [&] { first.type->execute(cross_, requests_.data(), present, functions); };
  HookStep step(*this, Hook::kMerge, verb, first.site, first.tag, work);
  const auto hook = [&] { core().hooks().do_merge(step); };
  try {
    step.take_to([&] {
      if (step_tap != nullptr) [[unlikely]]
        return step_tap->around_merge(core(), step, hook);
      hook();
    });
  } catch (const ReplicaCancelled&) {
    fail_in_merge(first, stray_cancellation(verb));
  } catch (...) {
    fail_in_merge(first, std::current_exception());
  }
  if (flight_ != nullptr && !has_failed()) [[unlikely]]
    flight_->complete();
  begin_phase();
}

// Each run and each merge of a strategy raises a count. A run in a merge leaves the counts as the
// next phase of the run around it finds them.
void ReplicaRunner::begin_phase() {
  const StrategyStatistics& counts = core().statistics();
  begin_replica_phase(2 * (counts.runs + counts.merges) + (nested_ ? 1 : 0));
}

}  // namespace belfry::detail
