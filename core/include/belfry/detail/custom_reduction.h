// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/mirror.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/reduction.h"

#include <memory>
#include <utility>

namespace belfry::detail {

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
