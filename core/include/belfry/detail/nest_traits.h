// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"
#include "belfry/dtype.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// The containers that belfry looks into: `std::vector`, `array`, `map`, `optional`, `tuple`,
/// `pair`, and aggregates with `members`. A new kind of container needs a trait, and a branch in
/// `all_elements`, `for_each_child` and `rebuild`.
namespace belfry::detail {

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

template <class T>
constexpr bool is_container() {
  return IsVector<T>::value || IsArray<T>::value || IsMap<T>::value || IsTuple<T>::value ||
         IsOptional<T>::value || HasMembers<T>;
}

/// Whether `rebuild` can make a container of this kind with other elements: a standard container
/// with its default allocator and order.
template <class T>
constexpr bool is_rebuilt() {
  if constexpr (IsVector<T>::value) {
    return std::same_as<T, std::vector<typename T::value_type>>;
  } else if constexpr (IsMap<T>::value) {
    return std::same_as<T, std::map<typename T::key_type, typename T::mapped_type>>;
  } else {
    return IsArray<T>::value || IsTuple<T>::value || IsOptional<T>::value;
  }
}

/// Whether `test.template operator()<E>()` holds for the type E of every element of a container.
template <class T, class Test>
constexpr bool all_elements(const Test& test) {
  if constexpr (IsVector<T>::value || IsArray<T>::value || IsOptional<T>::value) {
    return test.template operator()<typename T::value_type>();
  } else if constexpr (IsMap<T>::value) {
    return test.template operator()<typename T::mapped_type>();
  } else if constexpr (IsTuple<T>::value) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (test.template operator()<std::remove_cvref_t<std::tuple_element_t<I, T>>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return all_elements<decltype(T::members(std::declval<T&>()))>(test);
  }
}

/// Whether it holds for the type of any element.
template <class T, class Test>
constexpr bool any_element(const Test& test) {
  return !all_elements<T>([&]<class E>() { return !test.template operator()<E>(); });
}

/// Calls `visit(element)` for each element of a container, in order.
template <class T, class Visit>
void for_each_child(T& value, Visit&& visit) {
  using Plain = std::remove_cv_t<T>;
  if constexpr (IsVector<Plain>::value || IsArray<Plain>::value) {
    for (auto&& child : value) visit(child);  // std::vector<bool> gives values.
  } else if constexpr (IsMap<Plain>::value) {
    for (auto& [key, child] : value) visit(child);
  } else if constexpr (IsOptional<Plain>::value) {
    if (value) visit(*value);
  } else if constexpr (IsTuple<Plain>::value) {
    std::apply([&](auto&... child) { (visit(child), ...); }, value);
  } else {
    std::apply([&](auto&... child) { (visit(child), ...); }, Plain::members(value));
  }
}

/// The container of `make(element)` for each element of `value`, in order.
template <class T, class Make>
auto rebuild(const T& value, const Make& make) {
  static_assert(is_rebuilt<T>());
  if constexpr (IsVector<T>::value) {
    std::vector<std::remove_cvref_t<decltype(make(value.front()))>> out;
    out.reserve(value.size());
    for (const auto& element : value) out.push_back(make(element));
    return out;
  } else if constexpr (IsMap<T>::value) {
    std::map<typename T::key_type, std::remove_cvref_t<decltype(make(value.begin()->second))>> out;
    for (const auto& [key, element] : value) out.emplace_hint(out.end(), key, make(element));
    return out;
  } else if constexpr (IsOptional<T>::value) {
    using Made = std::optional<std::remove_cvref_t<decltype(make(*value))>>;
    return value ? Made(make(*value)) : Made();
  } else if constexpr (IsArray<T>::value) {
    using Made = std::remove_cvref_t<decltype(make(std::declval<typename T::const_reference>()))>;
    return std::apply(
        [&](const auto&... element) {
          return std::array<Made, std::tuple_size_v<T>>{make(element)...};
        },
        value);
  } else if constexpr (requires { value.first; }) {
    return std::pair<std::remove_cvref_t<decltype(make(value.first))>,
                     std::remove_cvref_t<decltype(make(value.second))>>{make(value.first),
                                                                        make(value.second)};
  } else {
    return std::apply(
        [&](const auto&... element) {
          return std::tuple<std::remove_cvref_t<decltype(make(element))>...>{make(element)...};
        },
        value);
  }
}

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
