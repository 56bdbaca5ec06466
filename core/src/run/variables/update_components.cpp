// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/update_components.h"

#include "belfry/replica_context.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belfry::detail {

void throw_uncopyable() {
  throw UnsupportedError(
      ErrorCode::kUnsupported, "what the function of an update returns cannot be copied",
      "this strategy copies results from one component to the others: return a value "
      "that can be copied, or nothing");
}

void require_own_results(const VariablePlaces& places, CallSite site) {
  const bool all_see_one = std::ranges::find(places.component, -1) == places.component.end();
  if (places.size() == 1 || (all_see_one && places.is_one_each())) return;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "what the function of an update returns cannot be copied, and not every "
                         "replica has a component of its own",
                         "take what each call returned from update_each", site);
}

void require_owner(const StrategyCore& core, const VariableInfo& info, CallSite site) {
  if (info.owner == &core) return;
  throw ContextError(ErrorCode::kOtherStrategy, info.name + " belongs to another strategy",
                     "it was made at " + to_string(info.created), site);
}

void require_value(const VariableInfo& info) {
  if (info.lost != nullptr) [[unlikely]] {
    std::rethrow_exception(info.lost);
  }
}

std::exception_ptr taken_in_place(const VariableInfo& info, CallSite site) {
  return std::make_exception_ptr(ContextError(
      ErrorCode::kWrongContext, info.name + " is read inside an update of the variable in place",
      "read the variable before the update; it was made at " + to_string(info.created), site));
}

void throw_own_argument(const VariableInfo& info, CallSite site) {
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument, info.name + " is an argument of its own update in place",
      "use the component that the function is given; it was made at " + to_string(info.created),
      site);
}

void require_own_value(const StrategyCore& core, const VariableInfo& info, CallSite site) {
  require_owner(core, info, site);
  require_value(info);
}

void require_shared(const StrategyCore& core, const VariableInfo& argument, CallSite site) {
  require_own_value(core, argument, site);
  if (argument.synchronization != Synchronization::kOnRead) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "replica-local " + argument.name + " has another value on each replica, and is no argument",
      "pass what read() returns; it was made at " + to_string(argument.created), site);
}

void throw_part_lacks_argument(int replica, CallSite site) {
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "an argument of update has no component of replica " + std::to_string(replica) +
          ", whose part of the sharded variable would change",
      "let every replica bring a value, also one without rows; or change the parts in the "
      "replicas: table.on(replica)",
      site);
}

void require_aggregation(const ReplicaContext& replica, const VariableInfo& info, CallSite site) {
  require_owner(replica.merges().core(), info, site);
  if (info.aggregation != Aggregation::kNone) return;
  ErrorReport report;
  report.code = ErrorCode::kNoAggregation;
  report.summary = "mirrored " + info.name + " was assigned in a replica, and has no aggregation";
  report.site = site;
  report.replicas.push_back({replica.replica_id(), site, "assigned it"});
  report.hint =
      "make it (" + to_string(info.created) +
      ") with {.aggregation = Aggregation::kSum, kMean, kMax, kMin, kProd or kOnlyFirst}, "
      "or update it in cross-replica context";
  throw InvalidArgumentError(std::move(report));
}

}  // namespace belfry::detail
