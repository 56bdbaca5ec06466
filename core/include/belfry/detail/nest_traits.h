// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/containers.h"
#include "belfry/dtype.h"
#include "belfry/element_traits.h"

#include <type_traits>
#include <vector>

namespace belfry::detail {

/// Specialised by Tensor.
template <class T>
struct IsTensor : std::false_type {};

/// A vector of numbers is a leaf of rank 1. (std::vector<bool> has no elements to point at.)
template <class T>
constexpr bool is_numeric_vector() {
  if constexpr (IsVector<T>::value) {
    return Element<typename T::value_type> && !std::is_same_v<typename T::value_type, bool>;
  } else {
    return false;
  }
}

template <class T>
constexpr bool is_leaf() {
  return Element<T> || is_numeric_vector<T>() || IsTensor<T>::value || UserElement<T>;
}

template <class T>
constexpr bool is_nest() {
  if constexpr (is_leaf<T>()) {
    return true;
  } else if constexpr (is_container<T>()) {
    return !std::is_same_v<T, std::vector<bool>> &&
           all_elements<T>([]<class E>() { return is_nest<E>(); });
  } else {
    return false;
  }
}

/// Tests the type of a verb's argument; returns whether the type is a nest.
template <class T>
constexpr bool require_nest() {
  constexpr bool kTraitsFit = !HasElementTraits<T> || is_nest<T>();
  static_assert(kTraitsFit,
                "ElementTraits<T> lacks a function: write static T zero(), static T add(const T&, "
                "const T&) and static std::string text(const T&) in ElementTraits, and make T "
                "trivially copyable and default constructible");
  if constexpr (kTraitsFit) {
    static_assert(
        is_nest<T>(),
        "the verb takes nests: numbers, tensors, containers of nests, and structures that list "
        "their members, all of them nests: write static auto members(auto& self) { return "
        "std::tie(self.first, self.second); } in the structure; a number type of your own needs "
        "belfry::ElementTraits");
  }
  return is_nest<T>();
}

/// Whether a type has leaves on devices: components differ in place.
template <class T>
constexpr bool has_tensor() {
  if constexpr (IsTensor<T>::value) {
    return true;
  } else if constexpr (is_container<T>()) {
    return any_element<T>([]<class E>() { return has_tensor<E>(); });
  } else {
    return false;
  }
}

}  // namespace belfry::detail
