// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/strategy_core.h"

#include "belfry/detail/flight_ring.h"
#include "belfry/detail/group_point.h"
#include "belfry/detail/make_variable.h"
#include "run/contexts/inside_update.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

[[noreturn]] void throw_inside_replica(const char* what, const CurrentContext& context,
                                       CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kWrongContext;
  report.summary = std::string(what) + " is cross-replica work, and this is inside a replica";
  report.site = site;
  // `what` is the name of a function, or says in words what was done.
  const std::string name = what;
  const bool is_words = name.find(' ') != std::string::npos;
  report.replicas.push_back(
      {context.replica->replica_id(), site, is_words ? "asked for it" : "called " + name});
  report.hint = "do it in the function you pass to merge_call, or outside run";
  throw ContextError(std::move(report));
}

[[noreturn]] void throw_broken(std::string summary, std::string expected) {
  ErrorReport report;
  report.code = ErrorCode::kStrategyContract;
  report.summary = std::move(summary);
  report.expected = std::move(expected);
  throw StrategyError(std::move(report));
}

// The other replicas see variables, and have not agreed to the change.
[[noreturn]] void throw_in_group(const char* what, const Participants& members, CallSite site) {
  throw UnsupportedError(
      ErrorCode::kUnsupported, std::string(what) + " in a merge of " + text_of_group(members),
      "change variables in a merge of all replicas: return the value, and call merge_call or "
      "assign with the context of the replica",
      site);
}

[[noreturn]] void throw_other_strategy(const char* what, CallSite site) {
  throw ContextError(ErrorCode::kOtherStrategy,
                     std::string(what) + " of one strategy inside the context of another",
                     "use the strategy of the innermost run or merge", site);
}

const char* name_of(Hook hook) {
  switch (hook) {
    case Hook::kInitialise:
      return "do_initialise";
    case Hook::kUpdate:
      return "do_update";
    case Hook::kReduce:
      return "do_reduce";
    case Hook::kBroadcast:
      return "do_broadcast";
    case Hook::kRun:
      return "do_run";
    case Hook::kMerge:
      return "do_merge";
  }
  return "a hook";
}

}  // namespace

void HookDepth::refuse(Hook hook, CallSite site) {
  const std::string name = name_of(hook);
  ErrorReport report;
  report.code = ErrorCode::kStrategyContract;
  report.summary = name + " of a strategy called itself again, " + std::to_string(kMost) +
                   " calls within one another";
  report.site = site;
  report.expected = "an end: at most " + std::to_string(kMost) + " such calls";
  report.hint = name + " must not start what it carries out unconditionally" +
                (hook == Hook::kRun ? "; StrategyStep::nested() tells a hook's own runs" : "");
  throw StrategyError(std::move(report));
}

StrategyCore::StrategyCore(Strategy& owner, StrategyHooks& hooks, Backend& backend,
                           std::vector<int> devices)
    : owner_(owner),
      hooks_(hooks),
      backend_(backend),
      devices_(std::move(devices)),
      own_(static_cast<int>(devices_.size())),
      members_(std::make_unique<RoundMembers>(static_cast<int>(devices_.size()))),
      acting_(members_.get()),
      reductions_(backend, devices_),
      flights_(backend.run_settings().flights),
      notes_host_values_(backend.run_settings().records_host_values),
      variable_tap_(backend.run_settings().variable_tap) {
  if (flights_ == nullptr) return;
  flight_group_ = &flights_->add({.about = "strategy", .carrier = "belfry", .own = devices_});
}

void StrategyCore::join(std::unique_ptr<RoundMembers> members) {
  members_ = std::move(members);
  acting_ = members_.get();
  // No replica follows the last process with devices.
  first_replica_ = std::min(members_->first_replica(members_->rank()), members_->replicas() - 1);
  own_ = Participants(members_->table());
  std::vector<int> devices;
  for (int replica = 0; replica < size(); ++replica) devices.push_back(device_of(replica));
  reductions_.span_processes(std::move(devices), own_);
  if (flights_ == nullptr) return;
  const ProcessTable& processes = members_->table();
  flights_->join(*flight_group_, devices_, processes.own, processes.first);
}

void StrategyCore::refuse_cross(const char* what, const CurrentContext& context,
                                CallSite site) const {
  if (context.strategy != this) throw_other_strategy(what, site);
  throw_inside_replica(what, context, site);
}

void StrategyCore::require_change(const char* what, CallSite site) {
  require_cross(what, site);
  if (is_inside_update(current_context())) throw_inside_update(what, site);
  for (const CurrentContext* one = current_context(); one != nullptr; one = one->outer) {
    if (one->group != nullptr) throw_in_group(what, *one->group, site);
  }
}

VariablePlaces StrategyCore::place(Synchronization kind) const {
  VariablePlaces places = hooks_.do_place(kind);
  if (places.size() == 0) throw_broken("a strategy has no place for a variable", "a device");
  for (int device : places.devices) {
    if (!backend_.has_device(device)) {
      throw_broken("a strategy places variables on device " + std::to_string(device),
                   "an index below " + std::to_string(backend_.device_count()));
    }
  }
  if (places.component.size() != devices_.size()) {
    throw_broken(
        "a strategy places variables for " + std::to_string(places.component.size()) + " replicas",
        std::to_string(devices_.size()) + " of them");
  }
  for (int component : places.component) {
    if (component < 0 || component >= places.size()) {
      throw_broken("a strategy lets a replica see component " + std::to_string(component),
                   "one from 0 to " + std::to_string(places.size() - 1));
    }
  }
  if (kind == Synchronization::kOnRead && !places.is_one_each()) {
    throw_broken("a strategy lets replicas share a component of a replica-local variable",
                 "a component for each replica");
  }
  if (kind == Synchronization::kOnRead && is_seen_from_afar(*this, places)) {
    throw_broken("a strategy places a replica-local variable away from the replicas that write it",
                 "each component on the device of its replica");
  }
  return places;
}

void StrategyCore::initialise(ComponentWork& variable, CallSite site) {
  const HookDepth::Call call(hook_depth_, Hook::kInitialise, site);
  hooks_.do_initialise(variable);
}

void StrategyCore::update(ComponentWork& update, CallSite site) {
  const HookDepth::Call call(hook_depth_, Hook::kUpdate, site);
  hooks_.do_update(update);
}

std::vector<AnyTensor> StrategyCore::broadcast(const AnyTensor& source,
                                               std::span<const Placement> targets) {
  const HookDepth::Call call(hook_depth_, Hook::kBroadcast, {});
  std::vector<AnyTensor> copies = hooks_.do_broadcast(source, targets);
  if (copies.size() != targets.size()) {
    throw_broken("a strategy broadcast " + std::to_string(copies.size()) + " copies",
                 std::to_string(targets.size()) + " of them");
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (copies[i].placement() != targets[i]) {
      throw_broken("copy " + std::to_string(i) + " of a broadcast is on another device",
                   "each copy on its target");
    }
    if (copies[i].shape() != source.shape() || copies[i].dtype() != source.dtype()) {
      throw_broken("copy " + std::to_string(i) + " of a broadcast has another shape or type",
                   "the shape and type of the source");
    }
  }
  return copies;
}

void StrategyCore::track(const std::shared_ptr<VariableRecord>& variable) {
  // Forgets those that are gone whenever the list would have to grow.
  if (living_.size() == living_.capacity()) {
    std::erase_if(living_, [](const auto& one) { return one.expired(); });
  }
  living_.push_back(variable);
  if (variable->info.owner == nullptr) return;  // Other state, for transactions alone.
  if (variable_tap_ != nullptr) variable_tap_->made(variable);
  if (flights_ != nullptr) {
    flights_->name(*flight_group_, variable->info.number, variable->info.name);
  }
}

std::shared_ptr<VariableRecord> StrategyCore::variable(std::uint64_t number) const {
  for (const std::weak_ptr<VariableRecord>& one : living_) {
    std::shared_ptr<VariableRecord> found = one.lock();
    if (found != nullptr && found->info.number == number) return found;
  }
  return nullptr;
}

std::vector<std::function<void()>> StrategyCore::snapshots() const {
  std::vector<std::function<void()>> all;
  for (const std::weak_ptr<VariableRecord>& one : living_) {
    const std::shared_ptr<VariableRecord> variable = one.lock();
    if (variable == nullptr) continue;
    VariableTap* const tap = variable->info.owner == nullptr ? nullptr : variable_tap_;
    all.emplace_back([variable, restore = variable->snapshot(), tap] {
      restore();
      if (tap != nullptr) tap->changed(*variable);
    });
  }
  return all;
}

void StrategyCore::RunLock::refuse(CallSite site) {
  throw ContextError(ErrorCode::kStrategyBusy, "this strategy is running already",
                     "one run at a time: give every thread a strategy of its own", site);
}

StrategyStatistics statistics_of(StrategyCore& core) {
  StrategyStatistics statistics = core.statistics();
  statistics.reduction = core.reductions().statistics();
  return statistics;
}

}  // namespace belfry::detail

namespace belfry {

std::string to_string(const MergeTag& tag) { return "\"" + std::string(tag.name) + "\""; }

std::string to_string(const ReductionStatistics& statistics) {
  return "reductions " + std::to_string(statistics.reductions) + ", host leaves " +
         std::to_string(statistics.host_leaves) + ", tensor leaves " +
         std::to_string(statistics.tensor_leaves) + ", bytes " + std::to_string(statistics.bytes);
}

std::string to_string(const StrategyStatistics& statistics) {
  return "runs " + std::to_string(statistics.runs) + ", merges " +
         std::to_string(statistics.merges) + ", updates " + std::to_string(statistics.updates) +
         ", " + to_string(statistics.reduction);
}

}  // namespace belfry
