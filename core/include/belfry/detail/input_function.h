// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dataset.h"
#include "belfry/detail/containers.h"
#include "belfry/detail/dataset/input_context.h"

#include <optional>
#include <type_traits>
#include <utility>

namespace belfry::detail {

template <class T>
struct IsDataset : std::false_type {};
template <class T>
struct IsDataset<Dataset<T>> : std::true_type {};

/// Whether an input function can be called, and as_dataset takes the result.
template <class F>
constexpr bool is_input_function() {
  if constexpr (std::is_invocable_v<const F&, const InputContext&>) {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, const InputContext&>>;
    return IsDataset<R>::value || std::is_invocable_v<std::add_lvalue_reference_t<R>>;
  } else {
    return false;
  }
}

/// The dataset made from the result of an input function: a dataset, or a function that returns the
/// next element, as `std::optional` if the elements have an end.
template <class R>
auto as_dataset(R made) {
  if constexpr (IsDataset<R>::value) {
    return made;
  } else {
    using Next = std::remove_cvref_t<std::invoke_result_t<R&>>;
    using T =
        typename std::conditional_t<IsOptional<Next>::value, Next, std::optional<Next>>::value_type;
    return Dataset<T>::from_generator([made = std::move(made)] {
      return [next = made]() mutable -> std::optional<T> { return next(); };
    });
  }
}

}  // namespace belfry::detail
