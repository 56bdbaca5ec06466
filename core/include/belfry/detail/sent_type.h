// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/nest_traits.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry::detail {

/// Whether values of a type can be sent to another process: numbers, enumerators, strings, tensors,
/// and the containers of these.
template <class T>
constexpr bool is_sent() {
  if constexpr (Element<T> || UserElement<T> || std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                std::is_same_v<T, std::string>) {
    return true;
  } else if constexpr (IsTensor<T>::value) {
    return true;
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    return false;
  } else if constexpr (is_container<T>()) {
    const bool elements = all_elements<T>([]<class E>() { return is_sent<E>(); });
    if constexpr (IsMap<T>::value) {
      return elements && is_sent<typename T::key_type>() &&
             std::is_default_constructible_v<typename T::mapped_type>;
    } else if constexpr (IsVector<T>::value || IsOptional<T>::value) {
      return elements && std::is_default_constructible_v<typename T::value_type>;
    } else {
      return elements;
    }
  } else {
    return false;
  }
}

/// The least number of bytes of a value in a message. 0 for types without contents.
template <class T>
constexpr std::size_t least_bytes() {
  if constexpr (std::is_same_v<T, std::string> || IsVector<T>::value || IsMap<T>::value) {
    return sizeof(std::uint64_t);
  } else if constexpr (IsTensor<T>::value || IsOptional<T>::value) {
    return 1;
  } else if constexpr (!is_container<T>()) {
    return sizeof(T);
  } else {
    return any_element<T>([]<class E>() { return least_bytes<E>() > 0; }) ? 1 : 0;
  }
}

}  // namespace belfry::detail
