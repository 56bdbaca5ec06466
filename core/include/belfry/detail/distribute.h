// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component.h"
#include "belfry/detail/replica_runner.h"
#include "belfry/replica_context.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Runs `fn(replica, component of each argument...)` on every replica and collects what it returns:
/// a PerReplica, the variable when it is a variable, nothing for void.
template <class F, class... Args>
auto distribute(StrategyCore& core, CrossReplicaContext& cross, const RunOptions& options,
                const F& fn, const Args&... args) {
  static_assert(
      std::is_invocable_v<const F&, ReplicaContext&, const ComponentOf<Args>&...>,
      "the replica function is called as fn(ReplicaContext&, const A&...): one A for each "
      "argument of run, distributed values as this replica's component");
  using Returned = std::invoke_result_t<const F&, ReplicaContext&, const ComponentOf<Args>&...>;
  const auto call = [&](ReplicaContext& replica) -> Returned {
    return fn(replica, component(args, replica.replica_id())...);
  };
  if constexpr (std::is_void_v<Returned>) {
    ReplicaRunner(core, cross, FunctionRef<void(ReplicaContext&)>(call)).run(options);
  } else {
    using Result = std::remove_cvref_t<Returned>;
    std::vector<std::optional<Result>> slots(static_cast<std::size_t>(core.size()));
    const auto body = [&](ReplicaContext& replica) {
      slots[static_cast<std::size_t>(replica.replica_id())].emplace(call(replica));
    };
    ReplicaRunner(core, cross, FunctionRef<void(ReplicaContext&)>(body)).run(options);
    if constexpr (IsVariable<Result>::value) {
      return std::move(*slots.front());
    } else {
      ReplicaArray<Result> results(core.size());
      for (auto& slot : slots) results.emplace_back(std::move(*slot));
      return PerReplica<Result>(std::move(results));
    }
  }
}

}  // namespace belfry::detail
