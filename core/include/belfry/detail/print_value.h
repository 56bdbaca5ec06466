// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/nest_traits.h"
#include "belfry/dtype.h"

#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

namespace belfry::detail {

/// The shortest text of the number: `0.1`, `1e+30`, `nan`. A reader gets the same number. No flag
/// of a stream and no locale changes the text.
std::string number_text(float value);
std::string number_text(double value);

template <class T>
concept Streamed = requires(std::ostream& out, const T& value) { out << value; };

template <class T>
void print_value(std::ostream& out, const T& value);

template <class T>
void print_children(std::ostream& out, const T& value) {
  const char* gap = "";
  if constexpr (IsMap<T>::value) {
    for (const auto& [key, child] : value) {
      out << std::exchange(gap, ", ");
      print_value(out, key);
      out << ": ";
      print_value(out, child);
    }
  } else {
    for_each_child(value, [&](const auto& child) {
      out << std::exchange(gap, ", ");
      print_value(out, child);
    });
  }
}

/// Prints a component of a value: numbers by number_text, characters as numbers, types with
/// ElementTraits by their text, containers and aggregates element by element, and all remaining
/// types by their `<<`. A type without `<<` prints as `?`.
template <class T>
void print_value(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, double>) {
    out << number_text(value);
  } else if constexpr (Element<T> && !std::is_integral_v<T>) {
    out << number_text(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<T>) {
    out << std::to_string(value);
  } else if constexpr (UserElement<T>) {
    out << std::string(ElementTraits<T>::text(value));
  } else if constexpr (IsOptional<T>::value) {
    if (value) {
      print_value(out, *value);
    } else {
      out << "none";
    }
  } else if constexpr (Streamed<T>) {
    out << value;
  } else if constexpr (is_container<T>()) {
    constexpr bool kList = IsVector<T>::value || IsArray<T>::value;
    out << (kList ? '[' : IsTuple<T>::value ? '(' : '{');
    print_children(out, value);
    out << (kList ? ']' : IsTuple<T>::value ? ')' : '}');
  } else {
    out << '?';
  }
}

/// `PerReplica[1, -, 3]`. `at(i)` is a pointer to component i, or null for a missing component.
template <class At>
std::ostream& print_components(std::ostream& out, const char* name, int size, const At& at) {
  out << name << '[';
  for (int i = 0; i < size; ++i) {
    if (i > 0) out << ", ";
    const auto* const component = at(i);
    if (component == nullptr) {
      out << '-';
    } else {
      print_value(out, *component);
    }
  }
  return out << ']';
}

}  // namespace belfry::detail
