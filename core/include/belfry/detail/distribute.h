// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/changed_components.h"
#include "belfry/detail/component.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/update_components.h"
#include "belfry/replica_context.h"

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Runs `function` on each replica of `present` until all have ended. Without a replica, listens to
/// the run of the other processes (SEM-212). Order: blocks the caller.
/// Throws: the exception of the failing replica with the lowest id, or of a merge function; errors
/// of belfry (see CrossReplicaContext::run).
void run_replicas(StrategyCore& core, CrossReplicaContext& cross,
                  FunctionRef<void(ReplicaContext&)> function, const Participants& present,
                  const RunOptions& options);

/// Throws: InvalidArgumentError (kInvalidArgument): no replica could run.
[[noreturn]] void throw_nobody_takes_part(CallSite site);

template <class T>
bool has_component(const PerReplica<T>& value, int replica) {
  return value.has(replica);
}
template <class T>
bool has_component(const Mirrored<T>&, int) {
  return true;
}

/// The replicas of this process that have a component of every argument (SEM-90).
template <class... Args>
Participants participants(StrategyCore& core, CallSite site, const Args&... args) {
  if constexpr (!(Component<Args>::kDistributed || ...)) {
    return core.own();
  } else {
    (require_replicas_of(args, core.size(), site), ...);
    const auto takes_part = [&](int replica) {
      const auto has = [replica](const auto& leaf) { return has_component(leaf, replica); };
      return (Component<Args>::all(args, has) && ...);
    };
    // Components of the replicas of other processes start nothing here.
    const Participants& own = core.own();
    int before_absent = 0;
    while (before_absent < own.count() && takes_part(own.id(before_absent))) ++before_absent;
    if (before_absent == own.count()) return own;
    std::vector<int> ids;
    for (int i = 0; i < own.count(); ++i) {
      if (takes_part(own.id(i))) ids.push_back(own.id(i));
    }
    return {own, std::move(ids)};
  }
}

/// Runs `call` on every replica of `present` and collects the results.
template <class Result>
auto collect(StrategyCore& core, CrossReplicaContext& cross, const RunOptions& options,
             FunctionRef<Result(ReplicaContext&)> call, const Participants& present) {
  std::vector<std::optional<Result>> slots(static_cast<std::size_t>(core.size()));
  const auto body = [&](ReplicaContext& replica) {
    std::optional<Result>& slot = slots[static_cast<std::size_t>(replica.replica_id())];
    slot.emplace(call(replica));
    replica.merges().note(replica.replica_id(), *slot);
  };
  run_replicas(core, cross, body, present, options);
  if constexpr (IsVariable<Result>::value) {
    if (present.count() == 0) return Result();  // Names no variable.
    return std::move(*slots[static_cast<std::size_t>(present.id(0))]);
  } else {
    ReplicaArray<Result> results(present.count());
    for (int i = 0; i < present.count(); ++i) {
      results.emplace_back(std::move(*slots[static_cast<std::size_t>(present.id(i))]));
    }
    return PerReplica<Result>(std::move(results), present);
  }
}

/// Runs `fn(replica, component of each argument...)` on every replica and collects the results: a
/// PerReplica, the variable itself if fn returns one, nothing for void. A replica without a
/// component of some argument does not run.
template <class F, class... Args>
auto distribute(StrategyCore& core, CrossReplicaContext& cross, const RunOptions& options,
                const F& fn, const Args&... args) {
  static_assert(
      std::is_invocable_v<const F&, ReplicaContext&, const ComponentOf<Args>&...>,
      "the replica function is called as fn(ReplicaContext&, const A&...): one A for each "
      "argument of run, distributed values as this replica's component");
  using Returned = std::invoke_result_t<const F&, ReplicaContext&, const ComponentOf<Args>&...>;
  const Participants present =
      core.telling_failure(options.site, [&] { return participants(core, options.site, args...); });
  // By value: a reference that `fn` returns may be to an argument that was unpacked for this call
  // alone.
  const auto call = [&](ReplicaContext& replica) -> std::remove_cvref_t<Returned> {
    return fn(replica, component(args, replica.replica_id())...);
  };
  if constexpr (std::is_void_v<Returned>) {
    run_replicas(core, cross, call, present, options);
  } else {
    using Result = std::remove_cvref_t<Returned>;
    return collect<Result>(core, cross, options, FunctionRef<Result(ReplicaContext&)>(call),
                           present);
  }
}

/// Calls `fn(elements[k], args...)` on the device of replica k mod N, and lists the results by
/// replica of this process. The replicas of processes that listen get no elements.
template <class X, class F, class... Args>
auto map_elements(StrategyCore& core, CrossReplicaContext& cross, [[maybe_unused]] CallSite site,
                  const std::vector<X>& elements, const F& fn, const Args&... args) {
  static_assert(!(holds_per_replica<Args>() || ...),
                "map takes Mirrored or plain arguments: reduce a PerReplica first");
  using Result =
      std::remove_cvref_t<std::invoke_result_t<const F&, const X&, const UpdateArgument<Args>&...>>;
  (require_argument(core, args, site), ...);
  const Participants dealt = core.members().replicas_of_speakers();
  const auto size = static_cast<std::size_t>(dealt.count());
  const Participants& own = core.own();
  ReplicaArray<std::vector<Result>> lists(own.count());
  for (int i = 0; i < own.count(); ++i) lists.emplace_back();
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const int replica = dealt.id(static_cast<int>(k % size));
    if (!own.has(replica)) continue;
    CurrentContext here = update_context(core, cross, replica);
    const CurrentScope scope(here);
    [[maybe_unused]] const Placement place = core.placement(replica);
    lists[own.position(replica)].push_back(
        fn(elements[k],
           LocalValue<UpdateArgument<Args>>(update_argument(args, replica, place, site), place)
               .get()...));
  }
  return PerReplica<std::vector<Result>>(std::move(lists), own);
}

}  // namespace belfry::detail
