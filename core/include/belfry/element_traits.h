// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace belfry {

/// Makes a type T of a program a leaf of nests (SEM-158): replicas reduce, gather into a
/// PerReplica, fetch and keep values of T in variables as they do with a double. Specialise:
///
///     template <>
///     struct belfry::ElementTraits<Fixed> {
///       static Fixed zero();
///       static Fixed add(const Fixed& left, const Fixed& right);
///       static Fixed divide(const Fixed& sum, int count);
///       static std::string text(const Fixed& value);
///     };
///
/// `add(zero(), x)` is x. `divide` is optional: without it T has no MEAN. `text` is the value in
/// messages and logs; different values have different texts. T is trivially copyable and default
/// constructible. The functions depend on their arguments alone. Exceptions of the functions leave
/// the verb that reduces.
template <class T>
struct ElementTraits {
  /// Not in specialisations.
  static constexpr bool kIsMissing = true;
};

namespace detail {

/// Whether a program specialised ElementTraits for T.
template <class T>
concept HasElementTraits = !requires { ElementTraits<T>::kIsMissing; };

}  // namespace detail

/// A type that ElementTraits makes a leaf.
template <class T>
concept UserElement =
    detail::HasElementTraits<T> && !Element<T> && std::is_trivially_copyable_v<T> &&
    std::is_default_constructible_v<T> && requires(const T& value) {
      { ElementTraits<T>::zero() } -> std::same_as<T>;
      { ElementTraits<T>::add(value, value) } -> std::same_as<T>;
      { ElementTraits<T>::text(value) } -> std::convertible_to<std::string>;
    };

/// A UserElement with a MEAN.
template <class T>
concept DividedElement = UserElement<T> && requires(const T& value) {
  { ElementTraits<T>::divide(value, 1) } -> std::same_as<T>;
};

namespace detail {

/// The functions of ElementTraits for code without templates. Each pointer is to a T.
struct ElementFunctions {
  std::string_view spelling;  ///< Of a function with the name of T, by the compiler.
  std::size_t size;           ///< Of T.
  void (*set_zero)(void* value);
  void (*add_to)(void* sum, const void* value);  ///< sum = add(sum, value).
  void (*divide)(void* sum, int count);          ///< sum = divide(sum, count); null: no MEAN.
  std::string (*text)(const void* value);
};

/// The name of T, for messages.
std::string name_of(const ElementFunctions& functions);

template <class T>
constexpr std::string_view spelling_with_name() {
  return __PRETTY_FUNCTION__;
}

template <UserElement T>
constexpr ElementFunctions make_element_functions() {
  using Traits = ElementTraits<T>;
  ElementFunctions functions{
      .spelling = spelling_with_name<T>(),
      .size = sizeof(T),
      .set_zero = [](void* value) { *static_cast<T*>(value) = Traits::zero(); },
      .add_to =
          [](void* sum, const void* value) {
            T& to = *static_cast<T*>(sum);
            to = Traits::add(to, *static_cast<const T*>(value));
          },
      .divide = nullptr,
      .text =
          [](const void* value) {
            return std::string(Traits::text(*static_cast<const T*>(value)));
          }};
  if constexpr (DividedElement<T>) {
    functions.divide = [](void* sum, int count) {
      T& to = *static_cast<T*>(sum);
      to = Traits::divide(to, count);
    };
  }
  return functions;
}

template <UserElement T>
inline constexpr ElementFunctions kElementFunctions = make_element_functions<T>();

}  // namespace detail
}  // namespace belfry
