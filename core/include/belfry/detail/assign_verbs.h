// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/integer_sums.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/nest.h"
#include "belfry/variable.h"

#include <utility>

namespace belfry::detail {

/// Verbs of a replica that assign variables. Variables of types without sums are assigned through
/// their handles.
template <class Self>
class AssignVerbs {
 public:
  /// `assign` sets a variable, `assign_add` adds to it, `assign_sub` subtracts from it (SEM-45). A
  /// mirrored variable: a merge, in which the variable's aggregation combines the values of all
  /// replicas, and every component changes alike. A replica-local variable: this replica's
  /// component alone.
  /// Order: mirrored, blocks the host until all replicas have arrived. Replica-local, does not
  /// block. Work on tensors is enqueued on compute streams.
  /// Throws:
  /// - ContextError (kOtherStrategy): a variable of another strategy;
  /// - InvalidArgumentError (kVariableEmpty): a handle that names no variable;
  /// - StructureMismatchError (kStructure): for + and -, a value of another structure than the
  ///   variable's;
  /// - InvalidArgumentError (kDType): for + and -, types without sums;
  /// - DeviceError (kOutOfMemory).
  /// Throws for mirrored variables:
  /// - InvalidArgumentError (kNoAggregation): the variable has no aggregation;
  /// - MergeMismatchError (kMergePlaces), from `run`: replicas change several variables, or in
  ///   several ways;
  /// - StructureMismatchError (kStructure), from `run`: structures of replicas differ.
  /// Throws for replica-local variables:
  /// - ContextError (kWrongContext): this context is not current;
  /// - InvalidArgumentError (kDestination): the variable has no component here.
  template <class T, class V>
  void assign(const MirroredVariable<T>& variable, V value, MergePlace place = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      assign_merged(variable, AssignOp::kSet, std::move(value), place);
    }
  }
  /// assign with +.
  template <class T, class V>
  void assign_add(const MirroredVariable<T>& variable, V value,
                  MergePlace place = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      assign_merged(variable, AssignOp::kAdd, std::move(value), place);
    }
  }
  /// assign with -.
  template <class T, class V>
  void assign_sub(const MirroredVariable<T>& variable, V value,
                  MergePlace place = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      assign_merged(variable, AssignOp::kSubtract, std::move(value), place);
    }
  }
  template <class T, class V>
  void assign(const ReplicaLocalVariable<T>& variable, V value,
              MergePlace place = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      T own(std::move(value));
      bring_to(own, self().placement());
      assign_own(variable, AssignOp::kSet, std::move(own), place.site);
    }
  }
  template <class T, class V>
  void assign_add(const ReplicaLocalVariable<T>& variable, V value,
                  MergePlace place = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      assign_own(variable, AssignOp::kAdd, T(std::move(value)), place.site);
    }
  }
  template <class T, class V>
  void assign_sub(const ReplicaLocalVariable<T>& variable, V value,
                  MergePlace place = CallSite::here()) {
    if constexpr (require_nest<T>()) {
      assign_own(variable, AssignOp::kSubtract, T(std::move(value)), place.site);
    }
  }

  /// assign for the kind of the variable.
  template <class T, class V>
  void assign(const Variable<T>& variable, V value, MergePlace place = CallSite::here()) {
    variable.visit([&](const auto& kind) { assign(kind, std::move(value), place); }, place.site);
  }
  template <class T, class V>
  void assign_add(const Variable<T>& variable, V value, MergePlace place = CallSite::here()) {
    variable.visit([&](const auto& kind) { assign_add(kind, std::move(value), place); },
                   place.site);
  }
  template <class T, class V>
  void assign_sub(const Variable<T>& variable, V value, MergePlace place = CallSite::here()) {
    variable.visit([&](const auto& kind) { assign_sub(kind, std::move(value), place); },
                   place.site);
  }

  /// The assignment of a replica-local variable is no merge, and its tag has no effect.
  template <class V, class T>
  void assign(const MergeTag& tag, const V& variable, T value) {
    assign(variable, std::move(value), tag);
  }
  template <class V, class T>
  void assign_add(const MergeTag& tag, const V& variable, T value) {
    assign_add(variable, std::move(value), tag);
  }
  template <class V, class T>
  void assign_sub(const MergeTag& tag, const V& variable, T value) {
    assign_sub(variable, std::move(value), tag);
  }

 private:
  template <class T, class V>
  void assign_merged(const MirroredVariable<T>& variable, AssignOp op, V value, MergePlace place);
  template <class T>
  void assign_own(const ReplicaLocalVariable<T>& variable, AssignOp op, T value, CallSite site) {
    T& component = variable.on(self(), site);
    apply_assign(op, component, std::move(value), variable.name(site), site);
  }
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace belfry::detail
