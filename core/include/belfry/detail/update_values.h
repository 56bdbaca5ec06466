// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component_values.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/mirrored_check.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/distributed_values.h"
#include "belfry/variable.h"

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Throws: UnsupportedError: a result of the update cannot be copied to other components.
[[noreturn]] void throw_uncopyable();

/// Throws: UnsupportedError unless results that cannot be copied are enough for all replicas: a
/// result shared by all, or for each replica the result of a component that no other replica sees.
void require_own_results(const VariablePlaces& places, CallSite site);

/// The data of an update, without its function: copies of the components, or the components
/// themselves, and the results of the calls.
template <class T, class Result>
class UpdateValues : public ComponentValues {
 public:
  UpdateValues(StrategyCore& core, CrossReplicaContext& cross, VariableState<T>& state,
               const UpdateOptions& options)
      : ComponentValues(core, cross, state.info,
                        state.info.synchronization == Synchronization::kOnWrite, options.site),
        state_(state),
        staged_(options.in_place ? 0 : state.components.size()),
        results_(state.components.size()) {
    for (const auto& component : state.components) {
      if (!options.in_place) staged_.emplace_back(component.value);
      results_.emplace_back();
    }
  }

  /// The value that the function changes.
  T& value(int component) {
    return staged_.size() == 0 ? state_.components[component].value : staged_[component];
  }
  /// The new components, after the last call.
  Replacement<T> replacement() {
    if (staged_.size() == 0) return Replacement<T>(core(), state_, this->site());
    return Replacement<T>(core(), info(), std::move(staged_), this->site());
  }

  /// Throws: UnsupportedError if results() could not give each replica its result.
  void require_results() const {
    if constexpr (!std::is_copy_constructible_v<Result>) {
      require_own_results(places(), this->site());
    }
  }
  /// The results of the calls, on every replica.
  /// Throws: VariableMismatchError (kMirroredDiverged) if compared results differ.
  Mirrored<Result> results() {
    const int count = results_.size();
    if (ends_equal() && core().backend().verifies_mirrored()) {
      require_mirrored(results_, Compared::kResults, info(), this->site());
    }
    if constexpr (lives_on_devices<Result>()) {
      if (count == 1) return mirror(core(), *results_[0]);
    }
    const std::vector<int>& seen_components = places().component;  // Of the replicas here.
    const auto replicas = static_cast<int>(seen_components.size());
    if constexpr (std::is_copy_constructible_v<Result>) {
      if (count > 1) {
        ReplicaArray<Result> results(replicas);
        for (int i = 0; i < replicas; ++i) {
          const int seen = seen_components[static_cast<std::size_t>(i)];
          // A replica without a component gets the result of component 0.
          results.emplace_back(*results_[seen < 0 ? 0 : seen]);
          bring_to(results[i], core().placement(core().own().id(i)));
        }
        return mirrored_on_own(core(), std::move(results));
      }
    }
    ReplicaArray<Result> results(count == 1 ? 1 : replicas);
    if (count == 1) {
      results.emplace_back(std::move(*results_[0]));
    } else {
      for (int seen : seen_components) results.emplace_back(std::move(*results_[seen]));
    }
    return mirrored_on_own(core(), std::move(results));
  }
  /// The result of each call, in the order of the components.
  std::vector<Result> each() {
    std::vector<Result> results;
    for (std::optional<Result>& result : results_) results.push_back(std::move(*result));
    return results;
  }

 protected:
  ~UpdateValues() = default;

  std::optional<Result>& result(int component) { return results_[component]; }

 private:
  void copy_values(int from, const std::vector<int>& to) final {
    const std::vector<Placement> targets = places_of(to);
    if constexpr (std::is_copy_constructible_v<Result>) {
      ReplicaArray<T> copies = copies_on(core(), value(from), targets);
      ReplicaArray<Result> results = copies_on(core(), *results_[from], targets);
      for (std::size_t i = 0; i < to.size(); ++i) {
        value(to[i]) = std::move(copies[static_cast<int>(i)]);
        results_[to[i]].emplace(std::move(results[static_cast<int>(i)]));
      }
    } else {
      throw_uncopyable();
    }
  }

  VariableState<T>& state_;
  ReplicaArray<T> staged_;  // None in place.
  ReplicaArray<std::optional<Result>> results_;
};

}  // namespace belfry::detail
