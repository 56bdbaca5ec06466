// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/nest_traits.h"
#include "belfry/tensor.h"

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// Batches consist of rows (SEM-93): rows are elements of vectors and indices of a tensor's
/// first axis. Containers and aggregates of batches are batches with as many rows as each part.
namespace belfry::detail {

/// Whether a batch of a type may consist of a batch for each part of the type.
template <class T>
constexpr bool has_parts() {
  if constexpr (IsTuple<T>::value) {
    return std::tuple_size_v<T> != 0;
  } else {
    return IsArray<T>::value || IsMap<T>::value || HasMembers<T>;
  }
}

/// Whether a type is a tensor, or a tuple, array, map or aggregate of nothing else.
template <class T>
constexpr bool is_stackable() {
  if constexpr (IsTensor<T>::value) {
    return true;
  } else if constexpr (has_parts<T>()) {
    return all_elements<T>([]<class E>() { return is_stackable<E>(); });
  } else {
    return false;
  }
}

template <class T>
struct Batched {
  using type = std::conditional_t<is_stackable<T>(), T, std::vector<T>>;
};
template <class... T>
  requires(!is_stackable<std::tuple<T...>>())
struct Batched<std::tuple<T...>> {
  using type = std::tuple<typename Batched<T>::type...>;
};
template <class A, class B>
  requires(!is_stackable<std::pair<A, B>>())
struct Batched<std::pair<A, B>> {
  using type = std::pair<typename Batched<A>::type, typename Batched<B>::type>;
};

/// Whether a type has rows.
template <class T>
constexpr bool is_batch() {
  if constexpr (IsVector<T>::value || IsTensor<T>::value) {
    return true;
  } else if constexpr (has_parts<T>()) {
    return all_elements<T>([]<class E>() { return is_batch<E>(); });
  } else {
    return false;
  }
}

}  // namespace belfry::detail

namespace belfry {

/// The type of a batch of T: a tensor with one more axis for a tensor, and each tensor so in a
/// tuple, array, map or aggregate of tensors; a tuple or pair of batches for another tuple or pair;
/// `std::vector<T>` for anything else (SEM-93).
template <class T>
using BatchOf = typename detail::Batched<T>::type;

}  // namespace belfry
