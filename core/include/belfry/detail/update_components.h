// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/changed_components.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/device_function.h"
#include "belfry/detail/host_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/mirrored_check.h"
#include "belfry/detail/step_tap.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/update_argument.h"
#include "belfry/detail/update_values.h"
#include "belfry/device_spec.h"
#include "belfry/distributed_values.h"
#include "belfry/variable.h"

#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Throws: InvalidArgumentError (kNoAggregation), ContextError (kOtherStrategy).
void require_aggregation(const ReplicaContext& replica, const VariableInfo& info, CallSite site);

/// The result of the function of an update; int in place of void.
template <class T, class F, class... Args>
using UpdateResult = std::conditional_t<
    std::is_void_v<std::invoke_result_t<const F&, T&, const UpdateArgument<Args>&...>>, int,
    std::remove_cvref_t<std::invoke_result_t<const F&, T&, const UpdateArgument<Args>&...>>>;

/// The error of reads during an update in place.
std::exception_ptr taken_in_place(const VariableInfo& info, CallSite site);
/// Throws InvalidArgumentError (kInvalidArgument): an update in place with its own variable as an
/// argument.
[[noreturn]] void throw_own_argument(const VariableInfo& info, CallSite site);

/// Refuses the variable of an update in place as an argument.
template <class A>
void require_other(const A& argument, const VariableRecord& changed, const UpdateOptions& options) {
  if constexpr (IsVariable<A>::value) {
    const VariableRecord& own = argument.state(options.site);
    if (options.in_place && &own == &changed) throw_own_argument(own.info, options.site);
  }
}

/// One update: works on copies of the components, or in place.
template <class T, class F, class... Args>
class UpdateWork final : public UpdateValues<T, UpdateResult<T, F, Args...>> {
 public:
  using Returned = std::invoke_result_t<const F&, T&, const UpdateArgument<Args>&...>;
  static constexpr bool kVoid = std::is_void_v<Returned>;
  static_assert(!changes_nothing<T, F, Returned>(),
                "the function of update must take the component as T&: it changes a copy here");

  UpdateWork(StrategyCore& core, CrossReplicaContext& cross, VariableState<T>& state,
             const UpdateOptions& options, const F& fn, const Args&... args)
      : UpdateValues<T, UpdateResult<T, F, Args...>>(core, cross, state, options),
        fn_(fn),
        args_(&args...) {}

 private:
  void compute_value(int component) override {
    call(component, std::index_sequence_for<Args...>());
  }

  template <std::size_t... I>
  void call(int component, std::index_sequence<I...>) {
    [[maybe_unused]] const int replica = this->replica_beside(component);
    [[maybe_unused]] const Placement place = this->place_of(component);
    T& value = this->value(component);
    if constexpr (kVoid) {
      fn_(value, local(update_argument(*std::get<I>(args_), replica, place, this->site()), place)
                     .get()...);
      this->result(component).emplace();
    } else {
      this->result(component).emplace(fn_(
          value, local(update_argument(*std::get<I>(args_), replica, place, this->site()), place)
                     .get()...));
    }
    // Components stay where the variable lives, also when `fn` took a value from elsewhere.
    bring_to(value, place);
    if constexpr (requires { value.require_rows(this->info(), component, this->site()); }) {
      value.require_rows(this->info(), component, this->site());
    }
  }
  template <class A>
  static LocalValue<A> local(const A& argument, Placement place) {
    return {argument, place};
  }

  const F& fn_;
  std::tuple<const Args*...> args_;
};

/// Calls the function for the components, on the strategy's request. Copies change no component
/// yet.
template <class T, class Result>
Replacement<T> carry_out_update(StrategyCore& core, VariableState<T>& state,
                                UpdateValues<T, Result>& work, CallSite site) {
  core.update(work, site);
  work.require_all();
  const int count = state.components.size();
  if (state.info.synchronization == Synchronization::kOnWrite) {
    const auto at = [&work](int i) -> T& { return work.value(i); };
    if (core.backend().verifies_mirrored()) {
      if constexpr (Nest<T>) {
        require_mirrored(count, at, Compared::kHostLeaves, state.info, site);
      }
      compare_between_processes(core, work.value(0), {state.info}, site);
    }
    if constexpr (Nest<T>) show_change(core, state.info, count, at, site);
  }
  core.statistics().updates += 1;
  if (core.notes_host_values()) {
    for (int i = 0; i < count; ++i) note_host_values(core, {}, work.value(i));
  }
  return work.replacement();
}

/// `change()`, which changes the components of a variable. In place, the variable has no value
/// until its new components are put, and an exception leaves the variable without a value (SEM-42).
template <class T, class F>
decltype(auto) changing(VariableState<T>& state, const UpdateOptions& options, const F& change) {
  if (!options.anew) require_value(state.info);
  if (!options.in_place) return change();
  state.info.lost = taken_in_place(state.info, options.site);
  try {
    release_views(state);
    return change();
  } catch (...) {
    state.info.lost = std::current_exception();
    throw;
  }
}

/// For calls of update_at, where no verb has tested the arguments.
template <bool kOfParts, class T, class F, class... Args>
constexpr void require_update_function() {
  static_assert(kOfParts || !(holds_per_replica<Args>() || ...),
                "update takes Mirrored or plain arguments: reduce a PerReplica first");
  static_assert(is_update_function<T, F, Args...>(),
                "the function of update is called as fn(T&, const A&...)");
}

/// The result of `update`.
struct MirroredResults {
  static constexpr bool kMirrored = true;
  static constexpr const char* kVerb = "update";
  auto operator()(auto& work) const { return work.results(); }
};
/// The result of `update_each`.
struct EachResult {
  static constexpr bool kMirrored = false;
  static constexpr const char* kVerb = "update_each";
  auto operator()(auto& work) const { return work.each(); }
};

/// Makes an update, and returns `Results()(work)`, from before the new components are put in place.
template <class Results, class V, class F, class... Args>
auto change_components(StrategyCore& core, CrossReplicaContext& cross, const UpdateOptions& options,
                       const V& variable, const F& fn, const Args&... args) {
  using T = typename V::value_type;
  const CallSite site = options.site;
  core.require_change(Results::kVerb, site);
  constexpr bool kOfParts = IsSharded<V>::value;
  require_update_function<kOfParts, T, F, Args...>();
  VariableState<T>& state = variable.state(site);
  require_owner(core, state.info, site);
  const bool is_sharded = state.info.shards != nullptr;
  if (is_sharded) require_no_rows_listen(core, state.info, Results::kVerb, site);
  (require_argument<kOfParts>(core, args, site), ...);
  (require_other(args, state, options), ...);
  if constexpr (kOfParts && UpdateWork<T, F, Args...>::kVoid && Results::kMirrored) {
    // A process without replicas has a part without rows, and no arguments of replicas.
    if (core.own().count() == 0) return;
  }
  return changing(state, options, [&] {
    UpdateWork<T, F, Args...> work(core, cross, state, options, fn, args...);
    if constexpr (Results::kMirrored) work.require_results();
    Replacement<T> next = carry_out_update(core, state, work, site);
    if (!is_sharded) update_listeners(core, cross, site, state, fn, args...);
    if constexpr (work.kVoid && Results::kMirrored) {
      put_everywhere(core, state, next, site);
    } else {
      auto all = Results()(work);
      put_everywhere(core, state, next, site);
      return all;
    }
  });
}

/// Calls `fn` on the components. The results come back as a single value.
template <class V, class F, class... Args>
auto update_components(StrategyCore& core, CrossReplicaContext& cross, const UpdateOptions& options,
                       const V& variable, const F& fn, const Args&... args) {
  return change_components<MirroredResults>(core, cross, options, variable, fn, args...);
}

/// The same, with a separate result for each call.
template <class V, class F, class... Args>
auto update_each_component(StrategyCore& core, CrossReplicaContext& cross,
                           const UpdateOptions& options, const V& variable, const F& fn,
                           const Args&... args) {
  return change_components<EachResult>(core, cross, options, variable, fn, args...);
}

/// Calls `fn` once on each of `devices`; the strategy uses all of them.
template <class F, class... Args>
auto update_devices(StrategyCore& core, CrossReplicaContext& cross, CallSite site,
                    const std::vector<DeviceSpec>& devices, const F& fn, const Args&... args) {
  static_assert(!(holds_per_replica<Args>() || ...),
                "update takes Mirrored or plain arguments: reduce a PerReplica first");
  using Returned = std::invoke_result_t<const F&, const UpdateArgument<Args>&...>;
  constexpr bool kVoid = std::is_void_v<Returned>;
  using Result = std::conditional_t<kVoid, int, std::remove_cvref_t<Returned>>;
  (require_argument(core, args, site), ...);
  const std::vector<int> indices = devices_on(core, devices, site);
  ReplicaArray<Result> results(static_cast<int>(indices.size()));
  for (int device : indices) {
    [[maybe_unused]] const int replica = replica_beside(core, device);
    [[maybe_unused]] const Placement place = core.placement_on(device);
    CurrentContext here = device_context(core, cross, device);
    const CurrentScope scope(here);
    // By value: the result of `fn` may be a reference to an argument that ends with the call.
    const auto call = [&]() -> std::conditional_t<kVoid, void, Result> {
      return fn(LocalValue<UpdateArgument<Args>>(update_argument(args, replica, place, site), place)
                    .get()...);
    };
    if constexpr (kVoid) {
      call();
    } else {
      results.emplace_back(call());
    }
  }
  if constexpr (!kVoid) return MirroredOn<Result>(devices, std::move(results));
}

}  // namespace belfry::detail
