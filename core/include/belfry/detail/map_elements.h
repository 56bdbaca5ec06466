// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component.h"
#include "belfry/detail/update_components.h"

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

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
