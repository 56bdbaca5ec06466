// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Specialised by Tensor.
template <class T>
struct IsTensor : std::false_type {};

template <class T>
struct IsVector : std::false_type {};
template <class T, class A>
struct IsVector<std::vector<T, A>> : std::true_type {};

template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

template <class T>
struct IsMap : std::false_type {};
template <class K, class V, class C, class A>
struct IsMap<std::map<K, V, C, A>> : std::true_type {};

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// Aggregates that list their members: `static auto members(auto& self) { return std::tie(...); }`.
template <class T>
concept HasMembers = requires(T& value, const T& constant) {
  T::members(value);
  T::members(constant);
};

/// A vector of numbers is one leaf of rank 1. (std::vector<bool> has no elements to point at.)
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
  return Element<T> || is_numeric_vector<T>() || IsTensor<T>::value;
}

template <class T>
constexpr bool is_nest();

template <class Tuple>
struct TupleIsNest;
template <class... T>
struct TupleIsNest<std::tuple<T...>>
    : std::bool_constant<(is_nest<std::remove_cvref_t<T>>() && ...)> {};
template <class A, class B>
struct TupleIsNest<std::pair<A, B>>
    : std::bool_constant<is_nest<std::remove_cvref_t<A>>() && is_nest<std::remove_cvref_t<B>>()> {};

template <class T>
constexpr bool is_nest() {
  if constexpr (is_leaf<T>()) {
    return true;
  } else if constexpr (IsVector<T>::value || IsArray<T>::value || IsOptional<T>::value) {
    return is_nest<typename T::value_type>() && !std::is_same_v<T, std::vector<bool>>;
  } else if constexpr (IsMap<T>::value) {
    return is_nest<typename T::mapped_type>();
  } else if constexpr (IsTuple<T>::value) {
    return TupleIsNest<T>::value;
  } else if constexpr (HasMembers<T>) {
    return TupleIsNest<decltype(T::members(std::declval<T&>()))>::value;
  } else {
    return false;
  }
}

template <class T>
constexpr bool has_tensor();

template <class Tuple>
struct TupleHasTensor;
template <class... T>
struct TupleHasTensor<std::tuple<T...>>
    : std::bool_constant<(has_tensor<std::remove_cvref_t<T>>() || ...)> {};
template <class A, class B>
struct TupleHasTensor<std::pair<A, B>> : std::bool_constant<has_tensor<std::remove_cvref_t<A>>() ||
                                                            has_tensor<std::remove_cvref_t<B>>()> {
};

/// Whether a type has leaves on devices, so that its components differ in place.
template <class T>
constexpr bool has_tensor() {
  if constexpr (IsTensor<T>::value) {
    return true;
  } else if constexpr (IsVector<T>::value || IsArray<T>::value || IsOptional<T>::value) {
    return has_tensor<typename T::value_type>();
  } else if constexpr (IsMap<T>::value) {
    return has_tensor<typename T::mapped_type>();
  } else if constexpr (IsTuple<T>::value) {
    return TupleHasTensor<T>::value;
  } else if constexpr (HasMembers<T>) {
    return TupleHasTensor<decltype(T::members(std::declval<T&>()))>::value;
  } else {
    return false;
  }
}

}  // namespace belfry::detail
