// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/changed_components.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/mirrored_check.h"
#include "belfry/detail/step_tap.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/update_argument.h"
#include "belfry/detail/variable_state.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"
#include "belfry/variable.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

/// Variables and values of `update_all`, without their types.
namespace belfry::detail {

/// The functions of a variable that update_all needs.
struct FusedCalls {
  /// Appends the leaves of a component.
  void (*leaves)(VariableRecord& record, int component, std::vector<LeafRef>& out);
  /// release_views.
  void (*release)(VariableRecord& record);
  /// Gives the copies back that release_views took. Throws: DeviceError (kOutOfMemory).
  void (*renew)(StrategyCore& core, VariableRecord& record);
  /// After the components have changed in place: what `update` does after its function.
  /// Throws: DeviceError (kOutOfMemory); VariableMismatchError.
  void (*finish)(StrategyCore& core, VariableRecord& record, CallSite site);
};

template <class T>
VariableState<T>& state_of(VariableRecord& record) {
  return static_cast<VariableState<T>&>(record);
}

template <class T>
inline constexpr FusedCalls kFusedCalls{
    [](VariableRecord& record, int component, std::vector<LeafRef>& out) {
      for_each_leaf(state_of<T>(record).components[component].value,
                    [&out](auto& leaf) { out.push_back(leaf_ref(leaf)); });
    },
    [](VariableRecord& record) { release_views(state_of<T>(record)); },
    [](StrategyCore& core, VariableRecord& record) {
      Replacement<T>(core, state_of<T>(record), record.info.changed).put(state_of<T>(record));
    },
    [](StrategyCore& core, VariableRecord& record, CallSite site) {
      VariableState<T>& state = state_of<T>(record);
      const auto at = [&state](int i) -> T& { return state.components[i].value; };
      if (core.backend().verifies_mirrored()) {
        compare_between_processes(core, at(0), {record.info, "update_all"}, site);
      }
      show_change(core, record.info, state.components.size(), at, site);
      Replacement<T> next(core, state, site);
      put_everywhere(core, state, next, site);
    }};

/// A variable of a list.
struct FusedVariable {
  VariableRecord* record = nullptr;  ///< Null for a handle that names no variable.
  const FusedCalls* calls = nullptr;
  std::shared_ptr<const void> owner{};  ///< Of the record.
};

template <class V>
void append_variable(const V& variable, std::vector<FusedVariable>& out) {
  using T = typename V::value_type;
  constexpr bool kMirrored = !IsReplicaLocal<V>::value;
  static_assert(kMirrored,
                "update_all changes mirrored variables: write update for each "
                "replica-local variable");
  constexpr bool kTensors = lives_on_devices<T>();
  static_assert(kTensors, "update_all changes variables of tensors: write update for all others");
  if constexpr (kMirrored && kTensors) {
    const auto& state = variable.shared_state();
    out.push_back({state.get(), &kFusedCalls<T>, state});
  }
}

/// A value of a list. Without a function: no value.
struct FusedValue {
  const void* value = nullptr;
  int replicas = 0;  ///< The number of replicas of the value.
  /// Appends the tensors of a component; an empty tensor for each leaf that is no tensor.
  void (*leaves)(const void* value, int replica, std::vector<AnyTensor>& out) = nullptr;
  std::shared_ptr<const void> owner{};  ///< Of the value.
};

template <class T>
void append_values(std::vector<Mirrored<T>> values, std::vector<FusedValue>& out) {
  constexpr bool kNest = Nest<T>;
  static_assert(kNest, "update_all takes tensors, and nests of tensors");
  if constexpr (kNest) {
    const auto owner = std::make_shared<const std::vector<Mirrored<T>>>(std::move(values));
    const auto leaves = [](const void* value, int replica, std::vector<AnyTensor>& tensors) {
      for_each_leaf((*static_cast<const Mirrored<T>*>(value))[replica], [&](const auto& leaf) {
        if constexpr (IsTensor<std::remove_cvref_t<decltype(leaf)>>::value) {
          tensors.push_back(leaf.any());
        } else {
          tensors.emplace_back();
        }
      });
    };
    for (const Mirrored<T>& value : *owner) out.push_back({&value, value.size(), leaves, owner});
  }
}

}  // namespace belfry::detail
