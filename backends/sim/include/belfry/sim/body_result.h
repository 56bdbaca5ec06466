// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <concepts>
#include <cstddef>
#include <memory>
#include <ostream>
#include <ranges>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belfry::sim {

/// The value that the body of an exploration has returned, for the comparison of schedules
/// (SEM-190).
struct BodyResult {
  std::string text{};                   ///< For people.
  std::string bits{};                   ///< The bytes of numbers, texts, and containers of both.
  std::shared_ptr<const void> value{};  ///< Of a type that is compared by `==`; else null.
  bool (*equal)(const void*, const void*) = nullptr;  ///< The comparison, or null.
};

namespace detail {

/// The shortest text of a number, from which a reader gets the same number.
std::string number_text(double number);

template <class T>
concept TupleLike = requires { std::tuple_size<T>::value; };
template <class T>
concept OptionalLike = requires(const T& value) {
  { value.has_value() } -> std::same_as<bool>;
  *value;
};
template <class T>
concept ElementOrEnum = Element<T> || std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
concept HasStream = requires(std::ostream& out, const T& value) { out << value; };

template <class T>
using Bare = std::remove_cvref_t<T>;

/// Whether values of T are compared by their bits: numbers, enumerators, and ranges, tuples and
/// optionals of these.
template <class T>
constexpr bool has_bits() {
  if constexpr (ElementOrEnum<T>) {
    return true;
  } else if constexpr (std::ranges::input_range<const T&>) {
    return has_bits<Bare<std::ranges::range_value_t<const T&>>>();
  } else if constexpr (TupleLike<T>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (has_bits<Bare<std::tuple_element_t<I, T>>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (OptionalLike<T>) {
    return has_bits<Bare<decltype(*std::declval<const T&>())>>();
  } else {
    return false;
  }
}

template <class T>
void append_bits(std::string& bits, const T& value) {
  if constexpr (ElementOrEnum<T>) {
    bits.append(reinterpret_cast<const char*>(&value), sizeof(value));
  } else if constexpr (std::ranges::input_range<const T&>) {
    using Value = Bare<std::ranges::range_value_t<const T&>>;
    std::size_t count = 0;
    for (auto&& element : value) {
      const Value& plain = element;  // Elements of a list of bool are no objects.
      append_bits(bits, plain);
      ++count;
    }
    append_bits(bits, count);
  } else if constexpr (TupleLike<T>) {
    std::apply([&](const auto&... elements) { (append_bits(bits, elements), ...); }, value);
  } else {
    append_bits(bits, value.has_value());
    if (value.has_value()) append_bits(bits, *value);
  }
}

template <class T>
void append_text(std::string& text, const T& value) {
  const auto add_list = [&](char open, char close, const auto& add_all) {
    text += open;
    const std::size_t begin = text.size();
    add_all([&](const auto& element) {
      if (text.size() != begin) text += ", ";
      append_text(text, element);
    });
    text += close;
  };
  if constexpr (std::is_same_v<T, bool>) {
    text += value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    text += std::to_string(value);
  } else if constexpr (ElementOrEnum<T>) {
    text += number_text(static_cast<double>(value));
  } else if constexpr (HasStream<T>) {
    std::ostringstream out;
    out << value;
    text += out.str();
  } else if constexpr (std::ranges::input_range<const T&>) {
    add_list('[', ']', [&](const auto& add) {
      for (auto&& element : value) {
        const Bare<std::ranges::range_value_t<const T&>>& plain = element;
        add(plain);
      }
    });
  } else if constexpr (TupleLike<T>) {
    add_list('(', ')', [&](const auto& add) {
      std::apply([&](const auto&... elements) { (add(elements), ...); }, value);
    });
  } else if constexpr (OptionalLike<T>) {
    if (value.has_value()) {
      append_text(text, *value);
    } else {
      text += "none";
    }
  } else {
    text += '?';
  }
}

template <class T>
BodyResult result_of(T value) {
  BodyResult result;
  append_text(result.text, value);
  if constexpr (has_bits<T>()) {
    append_bits(result.bits, value);
  } else {
    result.value = std::make_shared<const T>(std::move(value));
    result.equal = [](const void* a, const void* b) {
      return static_cast<bool>(*static_cast<const T*>(a) == *static_cast<const T*>(b));
    };
  }
  return result;
}

}  // namespace detail
}  // namespace belfry::sim
