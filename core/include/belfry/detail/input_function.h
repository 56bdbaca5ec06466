// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dataset.h"
#include "belfry/detail/containers.h"
#include "belfry/detail/dataset/input_context.h"
#include "belfry/detail/function_call.h"

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace belfry::detail {

template <class T>
struct IsDataset : std::false_type {};
template <class T>
struct IsDataset<Dataset<T>> : std::true_type {};

template <class F>
using InputFunctionCall = FunctionCall<const F, const InputContext&>;
/// The call of the function that an input function returns. Of an input function that returns
/// nothing, or cannot be called: a call of nothing, which is refused.
template <class F>
struct NextElementCall : FunctionCall<std::monostate> {};
template <class F>
  requires(gives_value<InputFunctionCall<F>>())
struct NextElementCall<F> : FunctionCall<std::remove_cvref_t<ResultOf<InputFunctionCall<F>>>> {};

/// Whether an input function can be called, and as_dataset takes the result.
template <class F>
constexpr bool is_input_function() {
  if constexpr (gives_value<InputFunctionCall<F>>()) {
    return IsDataset<std::remove_cvref_t<ResultOf<InputFunctionCall<F>>>>::value ||
           NextElementCall<F>::fits();
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
