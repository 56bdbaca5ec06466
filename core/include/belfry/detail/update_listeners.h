// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_listeners.h"
#include "belfry/detail/update_argument.h"

namespace belfry::detail {

/// Before the components of a replica-local variable change: gives listening processes their new
/// components. The lowest process that takes part calls `fn` on a copy of each, on its own first
/// device (SEM-234). Order: blocks the host if some process listens. Throws: exceptions of `fn`; as
/// tell_listeners_components.
template <class T, class F, class... Args>
void update_listeners(StrategyCore& core, CrossReplicaContext& cross, CallSite site,
                      const VariableState<T>& state, const F& fn, const Args&... args) {
  if (!has_listeners(core) || state.info.synchronization == Synchronization::kOnWrite) return;
  if constexpr (!is_sent<T>()) {
    throw_not_sent("update", site);
  } else {
    const auto all = of_all_components(core, "update", state, site,
                                       [](const PerReplica<T>& components) { return components; });
    const int here = core.first_replica();
    tell_listeners_components<T>(core, state.info, site, [&](int replica) {
      CurrentContext context = update_context(core, cross, here);
      const CurrentScope scope(context);
      [[maybe_unused]] const Placement place = core.placement(here);
      T value = all[replica];
      fn(value, LocalValue<UpdateArgument<Args>>(update_argument(args, here, place, site), place)
                    .get()...);
      return value;
    });
  }
}

}  // namespace belfry::detail
