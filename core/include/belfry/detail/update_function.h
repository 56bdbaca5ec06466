// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/nest.h"

#include <type_traits>
#include <utility>

namespace belfry::detail {

template <class Owner, class R, class First, class... Rest>
std::type_identity<First> first_parameter(R (Owner::*)(First, Rest...) const);
template <class R, class First, class... Rest>
std::type_identity<First> first_parameter(R (*)(First, Rest...));

/// Whether a function of `update` takes the component by value, so that its changes would be lost.
/// Generic and overloaded functions are not known and pass.
template <class F>
constexpr bool takes_a_copy() {
  using Function = std::decay_t<F>;
  if constexpr (requires { first_parameter(&Function::operator()); }) {
    using First = typename decltype(first_parameter(&Function::operator()))::type;
    return !std::is_reference_v<First>;
  } else if constexpr (requires(Function function) { first_parameter(function); }) {
    using First = typename decltype(first_parameter(std::declval<Function>()))::type;
    return !std::is_reference_v<First>;
  } else {
    return false;
  }
}

/// Whether `update` can refuse such a function: it gives nothing back either, and copies of a nest
/// share nothing.
template <class T, class F, class Returned>
constexpr bool changes_nothing() {
  if constexpr (std::is_void_v<Returned> && Nest<T>) {
    return takes_a_copy<F>();
  } else {
    return false;
  }
}

}  // namespace belfry::detail
