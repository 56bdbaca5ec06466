// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/component.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/integer_sums.h"
#include "belfry/detail/mirror.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/reduction.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Throws StructureMismatchError with the first leaf of `other` different from the first component.
[[noreturn]] void throw_structures_differ(int replica, const std::vector<LeafDescription>& first,
                                          const std::vector<LeafDescription>& other, CallSite site,
                                          int first_replica = 0);
/// The same for the components of a value: the first leaf with a difference from the first
/// component, and the leaf of each component.
[[noreturn]] void throw_structures_differ(
    const Participants& present, const std::vector<std::vector<LeafDescription>>& components,
    CallSite site);
template <class Components>
[[noreturn]] void throw_components_differ(const Participants& present, const Components& components,
                                          CallSite site) {
  std::vector<std::vector<LeafDescription>> all;
  all.reserve(static_cast<std::size_t>(present.count()));
  for (int i = 0; i < present.count(); ++i) all.push_back(describe_leaves(components[i]));
  throw_structures_differ(present, all, site);
}

/// The lowest leaf with a difference between any of `components` and the first.
std::size_t first_difference(const std::vector<std::vector<LeafDescription>>& components);
/// The text of a component's `leaf`, or that the component has fewer leaves.
std::string leaf_text(const std::vector<LeafDescription>& leaves, std::size_t leaf);

/// Throws InvalidArgumentError (kInvalidArgument) unless a value has as many replicas as the
/// strategy, absent replicas included. Verbs call the function first.
inline void require_replicas(const StrategyCore& core, int replicas, CallSite site) {
  if (replicas != core.size()) throw_other_replicas(replicas, core.size(), site);
}

/// Throws UnsupportedError unless a value with tensors has a component on every replica.
void require_all_replicas(StrategyCore& core, int components, CallSite site);

/// The leaves of a value in words.
using LeafWords = FunctionRef<std::vector<LeafDescription>()>;
/// The place of a leaf, by its index in the leaves of a reduction: a text as of place_in_value.
using LeafPlaces = FunctionRef<std::string(std::size_t)>;

/// ` at leaf 2[1]` for entry 2 of the words of a value; nothing for the single leaf of a value, and
/// without words.
std::string place_of_leaf(const std::vector<LeafDescription>& words, std::size_t leaf);
/// The index in the words of a leaf, because words have entries for empty containers, too.
std::size_t word_of_leaf(const std::vector<LeafDescription>& words, std::size_t leaf);
/// The place_of_leaf of leaf number `leaf` of `leaves_of`.
std::string place_in_value(const std::vector<LeafDescription>& words, std::size_t leaf);

/// An error about an element type, with the place of the first leaf refused by `op`. Exceptions
/// about anything else are returned unchanged.
std::exception_ptr at_refused_leaf(std::exception_ptr error, ReduceOp op,
                                   const std::vector<LeafRef>& leaves, LeafPlaces place);

/// Reduces as the strategy does. Throws: the errors of the strategy, with this call site in errors
/// without a site, and with the place of a refused leaf.
void reduce_at(CallSite site, StrategyCore& core, const ReduceCall& call, LeafPlaces place);
/// The same for values of a single leaf.
void reduce_at(CallSite site, StrategyCore& core, const ReduceCall& call);
/// The same for a left fold of all parts into the first (see StrategyReductions::fold).
void fold_at(CallSite site, StrategyCore& core, ReduceOp op,
             std::span<const std::vector<LeafRef>> parts, LeafPlaces place);

/// A value on its way through a reduction: copies of its components, until they are the result.
template <class T>
class ReducedValue {
 public:
  /// Throws: UnsupportedError unless a value with tensors has a component on every replica.
  ReducedValue(StrategyCore& core, const PerReplica<T>& value, CallSite site)
      : value_(value), components_(value.present().count()) {
    if constexpr (has_tensor<T>()) require_all_replicas(core, value.size(), site);
    for (const T& component : value) components_.emplace_back(component);
  }

  /// Appends the leaves of component i to `parts[i]`. The object must stay at its address from here
  /// on.
  /// Throws: StructureMismatchError if components differ.
  void append_to(std::vector<std::vector<LeafRef>>& parts, CallSite site) {
    const Participants& present = value_.present();
    const std::vector<LeafRef> first = leaves_of(components_[0]);
    for (int i = 0; i < present.count(); ++i) {
      const std::vector<LeafRef> own = leaves_of(components_[i]);
      if (!same_tree(components_[0], components_[i]) || !same_leaves(first, own)) {
        throw_components_differ(present, components_, site);
      }
      auto& part = parts[static_cast<std::size_t>(i)];
      part.insert(part.end(), own.begin(), own.end());
    }
  }
  /// The result of every replica, once the leaves have been reduced.
  Mirrored<T> result(StrategyCore& core) {
    if constexpr (!has_tensor<T>()) {
      ReplicaArray<T> shared(1);
      shared.emplace_back(std::move(components_[0]));
      return Mirrored<T>(value_.size(), std::move(shared));
    } else {
      const bool is_everywhere = value_.present().is_all() && core.own().is_all();
      if (is_everywhere) return Mirrored<T>(value_.size(), std::move(components_));
      return spread(core, components_, value_.present());
    }
  }

 private:
  const PerReplica<T>& value_;
  ReplicaArray<T> components_;
};

/// The reduction of a value over the replicas with a component; on all of them.
template <class T>
Mirrored<T> reduce_value(StrategyCore& core, ReduceOp op, const PerReplica<T>& value,
                         CallSite site) {
  ReducedValue<T> reduced(core, value, site);
  std::vector<std::vector<LeafRef>> parts(static_cast<std::size_t>(value.present().count()));
  reduced.append_to(parts, site);
  constexpr bool kEverywhere = has_tensor<T>();
  const auto place = [&value](std::size_t leaf) {
    return place_in_value(describe_leaves(*value.begin()), leaf);
  };
  reduce_at(site, core, {op, parts, kEverywhere, value.present()}, place);
  return reduced.result(core);
}

/// Folds a value by a user's reduction, on replica 0's device.
/// Throws: StructureMismatchError; exceptions of the reduction.
template <class R, class T>
ReductionResult<R, T> fold_values(StrategyCore& core, const R& reduction,
                                  const PerReplica<T>& value, CallSite site) {
  const Participants& present = value.present();
  const T* const values = value.begin();
  if constexpr (Nest<T> && !lengths_may_differ<R>()) {
    T first = values[0];
    for (int i = 1; i < present.count(); ++i) {
      T other = values[i];
      if (!same_tree(first, other) || !same_leaves(leaves_of(first), leaves_of(other))) {
        throw_components_differ(present, values, site);
      }
    }
  }
  const Placement place = core.placement(core.first_replica());
  Prepared<R, T> folded = prepared(reduction, LocalValue<T>(values[0], place).get());
  for (int i = 1; i < present.count(); ++i) {
    const LocalValue<T> next(values[i], place);
    folded = reduction.combine(std::move(folded), prepared(reduction, next.get()));
  }
  return reduction.finalize(std::move(folded), present.count());
}

/// How a variable with a reduction of its own is read, saved and restored; R is forgotten.
template <class T>
class VariableReader {
 public:
  VariableReader() = default;
  VariableReader(const VariableReader&) = delete;
  VariableReader& operator=(const VariableReader&) = delete;
  virtual ~VariableReader() = default;

  virtual T read(StrategyCore& core, const PerReplica<T>& components, CallSite site) const = 0;
  virtual T on_save(T value) const = 0;
  virtual T on_restore(T value, int component, int components) const = 0;
  /// Whether a saved value may have other lengths than the components.
  virtual bool restores_other_lengths() const = 0;
};

template <class R, class T>
class ReductionReader final : public VariableReader<T> {
 public:
  explicit ReductionReader(const R& reduction) : reduction_(reduction) {}

  T read(StrategyCore& core, const PerReplica<T>& components, CallSite site) const override {
    return fold_values(core, reduction_, components, site);
  }
  T on_save(T value) const override {
    if constexpr (requires { reduction_.on_save(std::move(value)); }) {
      return reduction_.on_save(std::move(value));
    } else {
      return value;
    }
  }
  T on_restore(T value, int component, int components) const override {
    if constexpr (requires { reduction_.on_restore(std::move(value), component, components); }) {
      return reduction_.on_restore(std::move(value), component, components);
    } else {
      return value;
    }
  }
  bool restores_other_lengths() const override {
    return lengths_may_differ<R>() ||
           requires(T value) { reduction_.on_restore(std::move(value), 0, 1); };
  }

 private:
  R reduction_;
};

}  // namespace belfry::detail
