// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_replica_context.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/update_components.h"
#include "belfry/variable.h"

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The type of a variable with this initial value, or with the result of this function.
template <class Init>
struct InitialType : std::type_identity<std::decay_t<Init>> {};
template <class Init>
  requires(gives_value<FunctionCall<const Init>>())
struct InitialType<Init>
    : std::type_identity<std::remove_cvref_t<std::invoke_result_t<const Init&>>> {};

template <class Init>
auto initial_value(const Init& init) {
  if constexpr (std::is_invocable_v<const Init&>) {
    return init();
  } else {
    return init;
  }
}

/// An initial value of any type for a variable of type T. Valid as long as the objects behind the
/// functions.
template <class T>
struct InitialValue {
  FunctionRef<T()> make;
  FunctionRef<std::optional<std::string>()> structure;  ///< As structure_of.
  FunctionRef<std::uint64_t()> digest;                  ///< As host_digest_of.
};

/// Calls `fn(replica_id)` for each replica, with the device of the replica current.
template <class T>
PerReplica<T> values_of_replicas(StrategyCore& core, CrossReplicaContext& cross,
                                 FunctionRef<T(int)> fn, CallSite site) {
  core.require_cross("distribute_values", site);
  const Participants& own = core.own();
  ReplicaArray<T> values(own.count());
  for (int i = 0; i < own.count(); ++i) {
    CurrentContext here = update_context(core, cross, own.id(i));
    const CurrentScope scope(here);
    values.emplace_back(fn(own.id(i)));
  }
  return PerReplica<T>(std::move(values), own);
}
/// The same for a function of any type.
template <class F>
auto values_for_replicas(StrategyCore& core, CrossReplicaContext& cross, const F& fn,
                         CallSite site) {
  using Call = FunctionCall<const F, int>;
  constexpr bool kGivesValue = gives_value<Call>();
  static_assert(kGivesValue || Call::is_broken(),
                "distribute_values calls fn(id): write [&](int replica_id) { return ...; }");
  if constexpr (!kGivesValue) {
    return Call::no_result();
  } else {
    using T = std::remove_cvref_t<ResultOf<Call>>;
    const auto call = [&fn](int id) -> T { return fn(id); };
    return values_of_replicas<T>(core, cross, FunctionRef<T(int)>(call), site);
  }
}

/// The first values of a variable.
template <class T>
class InitialWork final : public ComponentValues {
 public:
  InitialWork(StrategyCore& core, CrossReplicaContext& cross, const VariableInfo& info,
              FunctionRef<T()> init, CallSite site)
      : ComponentValues(core, cross, info, true, site), init_(init), values_(info.places.size()) {
    for (int i = 0; i < info.places.size(); ++i) values_.emplace_back();
  }

  ReplicaArray<T> take() {
    ReplicaArray<T> taken(values_.size());
    for (std::optional<T>& value : values_) taken.emplace_back(std::move(*value));
    return taken;
  }

 private:
  void compute_value(int component) override {
    values_[component].emplace(placed_on(init_(), place_of(component)));
  }
  void copy_values(int from, const std::vector<int>& to) override {
    ReplicaArray<T> copies = copies_on(core(), *values_[from], places_of(to));
    for (std::size_t i = 0; i < to.size(); ++i) {
      values_[to[i]].emplace(std::move(copies[static_cast<int>(i)]));
    }
  }

  FunctionRef<T()> init_;
  ReplicaArray<std::optional<T>> values_;
};

}  // namespace belfry::detail
