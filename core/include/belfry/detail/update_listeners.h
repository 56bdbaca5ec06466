// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/process_listeners.h"
#include "belfry/detail/update_argument.h"

namespace belfry::detail {

/// Gives listening processes the components of a variable after `change`.
template <class T>
void tell_listeners_of_change(StrategyCore& core, CallSite site, const VariableState<T>& state,
                              FunctionRef<void(T&)> change) {
  const auto all = of_all_components(core, "update", state, site,
                                     [](const PerReplica<T>& components) { return components; });
  const auto value_of = [&](int replica) {
    T value = all[replica];
    change(value);
    return value;
  };
  tell_listeners_components<T>(core, state.info, site, FunctionRef<T(int)>(value_of));
}

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
    const auto change = [&](T& value) {
      const int here = core.first_replica();
      CurrentContext context = update_context(core, cross, here);
      const CurrentScope scope(context);
      [[maybe_unused]] const Placement place = core.placement(here);
      fn(value, LocalValue<UpdateArgument<Args>>(update_argument(args, here, place, site), place)
                    .get()...);
    };
    tell_listeners_of_change<T>(core, site, state, FunctionRef<void(T&)>(change));
  }
}

}  // namespace belfry::detail
