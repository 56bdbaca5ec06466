// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/distributed_values.h"

#include <concepts>
#include <limits>
#include <ranges>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>

namespace belfry::testing {

template <class T>
concept Printable = requires(std::ostream& stream, const T& value) {
  { stream << value } -> std::convertible_to<std::ostream&>;
};

/// Whether T is a PerReplica, with components to list.
template <class T>
inline constexpr bool kIsPerReplica = false;
/// A PerReplica is a PerReplica.
template <class T>
inline constexpr bool kIsPerReplica<PerReplica<T>> = true;

template <class T>
concept TupleLike = requires { std::tuple_size<T>::value; };

/// A value as text for people: a list in braces of the components of a `PerReplica`; the output of
/// `<<`; or else a list of the elements of a range, or of the members of a tuple or pair.
/// Floating-point numbers have enough digits to tell different numbers apart. Any other type gives
/// `?`.
template <class T>
std::string value_text(const T& value) {
  std::string text;
  const auto add = [&](const auto& element) {
    text += (text.empty() ? "{" : ", ") + value_text(element);
  };
  if constexpr (std::is_floating_point_v<T>) {
    std::ostringstream stream;
    stream.precision(std::numeric_limits<T>::max_digits10);
    stream << value;
    return stream.str();
  } else if constexpr (Printable<T> && !kIsPerReplica<T>) {
    std::ostringstream stream;
    stream << std::boolalpha << value;
    return stream.str();
  } else if constexpr (TupleLike<T> && !std::ranges::range<const T>) {
    std::apply([&](const auto&... members) { (add(members), ...); }, value);
  } else if constexpr (std::ranges::range<const T>) {
    for (const auto& element : value) add(element);
  } else {
    return "?";
  }
  return text.empty() ? "{}" : text + "}";
}

}  // namespace belfry::testing
