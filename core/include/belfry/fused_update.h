// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "belfry/call_site.h"
#include "belfry/detail/fused_tensors.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/update_body.h"
#include "belfry/distributed_values.h"
#include "belfry/variable.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry {

/// The numbers of FusedUpdate::adam.
struct AdamOptions {
  double rate = 0.001;          ///< Of step 1, without the correction.
  double decay = 0.9;           ///< Of the mean of gradients, at least 0 and below 1.
  double second_decay = 0.999;  ///< Of the mean of squares, at least 0 and below 1.
  double epsilon = 1e-7;        ///< Added to the root of the mean of squares.
};

/// The options as an initializer that compiles, without members of their usual value.
std::string to_string(const AdamOptions& options);

/// A rule that changes weights by their gradients: an argument of
/// `CrossReplicaContext::update_all`, which applies the rule to a list of variables in a single
/// kernel for each device and element type.
///
///     cross.update_all(weights, FusedUpdate::momentum(0.1, 0.9), velocities, gradients);
///
/// Slots are mirrored variables of the same shapes that the rule keeps for each weight, at first
/// zeros. The rules of belfry are for floating types; each operation is rounded to the element
/// type, so that the bits are those of the tensor functions in the formulas. Numbers are rounded
/// once to the type of computations, float for 16 bits.
class FusedUpdate {
 public:
  /// weight -= rate * gradient. No slots.
  static FusedUpdate plain(double rate);
  /// velocity = decay * velocity + gradient; weight -= rate * velocity. One slot.
  static FusedUpdate momentum(double rate, double decay);
  /// mean = decay * mean + (1 - decay) * gradient; square = second_decay * square +
  /// (1 - second_decay) * gradient * gradient; weight -= r * (mean / (sqrt(square) + epsilon)),
  /// with r = rate * sqrt(1 - second_decay^step) / (1 - decay^step). Two slots: the means, the
  /// squares. `step` is 1 in the first step. Throws: InvalidArgumentError (kInvalidArgument) for a
  /// step below 1, and a decay outside [0, 1).
  static FusedUpdate adam(std::int64_t step, const AdamOptions& options = {},
                          CallSite site = CallSite::here());
  /// A kernel of the program's own, a struct as for `launch` (belfry/launch.h), with the bodies
  ///
  ///     void on_host(std::span<T> weight, std::span<T> slot..., std::span<const T> gradient)
  ///     const; void on_cuda(cudaStream_t stream, ... the same ...) const; void
  ///     on_cuda(cudaStream_t stream, std::span<const UpdatedTensors<T, kSlots>> all) const;
  ///
  /// `on_host` is called for each weight. The first form of `on_cuda` is called for each weight,
  /// too; the second once for all, and comes first. A `check` of the kernel is not called:
  /// update_all has compared the shapes. T is the element type of all variables.
  template <class K>
  static FusedUpdate kernel(const K& kernel) {
    FusedUpdate update;
    constexpr bool kFits = detail::kUpdatesTensors<K>;
    static_assert(kFits,
                  "a kernel for update_all is a trivially copyable struct with void "
                  "on_host(std::span<T> weight, std::span<T> slot..., std::span<const T> gradient) "
                  "const, with any number of slots");
    if constexpr (kFits) update.own_ = std::make_shared<const detail::UpdateOfKernel<K>>(kernel);
    return update;
  }

  /// The number of slots of each weight.
  std::size_t slots() const;
  /// For belfry itself: the parameters of a rule of belfry.
  const KernelParameters& parameters() const { return parameters_; }
  /// For belfry itself: null for a rule of belfry.
  const detail::OwnUpdate* own() const { return own_.get(); }

 private:
  FusedUpdate() = default;

  KernelParameters parameters_{};
  std::shared_ptr<const detail::OwnUpdate> own_{};
};

/// `momentum of rate 0.1, decay 0.9`, or `kernel` and the name of the kernel.
std::string to_string(const FusedUpdate& update);

/// A list of mirrored variables for `update_all`: a handle, a `std::vector` of handles, or several
/// of these in braces, with tensors of any element types. A variable may be a nest of tensors.
class TensorVariables {
 public:
  TensorVariables() = default;
  /// One variable, a MirroredVariable or a Variable.
  template <class V>
    requires detail::IsVariable<V>::value
  TensorVariables(const V& variable) {  // NOLINT: implicit on purpose.
    detail::append_variable(variable, entries_);
  }
  /// The variables of a vector.
  template <class V>
    requires detail::IsVariable<V>::value
  TensorVariables(const std::vector<V>& variables) {  // NOLINT: implicit on purpose.
    entries_.reserve(variables.size());
    for (const V& variable : variables) detail::append_variable(variable, entries_);
  }
  /// The variables of all lists, one list after the other.
  TensorVariables(std::initializer_list<TensorVariables> lists);

  std::size_t size() const { return entries_.size(); }  ///< The number of variables.
  /// For belfry itself.
  const std::vector<detail::FusedVariable>& entries() const { return entries_; }

 private:
  std::vector<detail::FusedVariable> entries_;
};

/// A list of values with a value for each variable of `update_all`: a Mirrored, a `std::vector` or
/// `std::tuple` of these, or several lists in braces.
class TensorValues {
 public:
  TensorValues() = default;
  /// One value.
  template <class T>
  TensorValues(const Mirrored<T>& value)  // NOLINT: implicit on purpose.
      : TensorValues(std::vector<Mirrored<T>>{value}) {}
  /// The values of a vector.
  template <class T>
  TensorValues(std::vector<Mirrored<T>> values) {  // NOLINT: implicit on purpose.
    detail::append_values(std::move(values), entries_);
  }
  /// The values of a tuple, such as the result of batch_reduce.
  template <class... T>
  TensorValues(const std::tuple<Mirrored<T>...>& values) {  // NOLINT: implicit on purpose.
    std::apply(
        [this](const auto&... value) {
          (detail::append_values(std::vector{value}, entries_), ...);
        },
        values);
  }
  /// The values of all lists, one list after the other.
  TensorValues(std::initializer_list<TensorValues> lists);
  /// For belfry itself.
  explicit TensorValues(std::vector<detail::FusedValue> entries) : entries_(std::move(entries)) {}
  /// No value: update_all leaves the variable and its slots as they are.
  static TensorValues none();

  std::size_t size() const { return entries_.size(); }  ///< The number of values.
  /// For belfry itself.
  const std::vector<detail::FusedValue>& entries() const { return entries_; }

 private:
  std::vector<detail::FusedValue> entries_;
};

}  // namespace belfry
