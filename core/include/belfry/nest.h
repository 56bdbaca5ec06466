// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/nest_traits.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry {

class AnyTensor;

/// A value that verbs reduce, copy and save leaf by leaf: a structure of gradients, for example,
/// which lists its members once.
///
///     struct Gradients {
///       double bias;
///       std::vector<double> weights;
///       static auto members(auto& self) { return std::tie(self.bias, self.weights); }
///     };
///     const Gradients mean = replica.all_reduce(ReduceOp::kMean, gradients);
///
/// Leaves are arithmetic types, 16-bit floats, `std::vector` of these (one leaf of rank 1),
/// tensors, and types with ElementTraits. A nest is a leaf; a `std::vector`, `array`, `map`,
/// `tuple`, `pair` or `optional` of nests; or an aggregate with `members` of nests (SEM-20). Leaves
/// are in the order of declaration, index or key.
/// Verbs accept any type in their declarations, and refuse other types in their bodies, with a
/// message about the missing `members`; otherwise a compiler would begin with "no matching
/// function" and a list of all overloads. A requires-expression about a verb is therefore true for
/// every type, and generic code tests `Nest<T>`.
template <class T>
concept Nest = detail::is_nest<T>();

/// One leaf of a nest. Host leaves have `data`, tensors have `tensor`.
struct LeafRef {
  DType dtype = DType::kFloat32;  ///< The element type; without meaning if `own` is not null.
  std::size_t count = 0;          ///< The number of elements.
  void* data = nullptr;           ///< The elements in host memory; null for a tensor.
  AnyTensor* tensor = nullptr;    ///< The tensor; null for a host leaf.
  /// The functions of a type with ElementTraits, which is a host leaf of one element; else null.
  const detail::ElementFunctions* own = nullptr;

  /// The size of the elements.
  std::size_t bytes() const { return count * (own == nullptr ? size_of(dtype) : own->size); }
};

/// A leaf in words, for messages: the path `[1]{weights}` and the type `float32[10]`.
struct LeafDescription {
  std::string path;  ///< The way from the nest to the leaf.
  std::string type;  ///< The element type and the shape.

  bool operator==(const LeafDescription&) const = default;
};

/// The path, a space, and the type.
std::string to_string(const LeafDescription& leaf);

namespace detail {

/// The descriptions of an empty optional, and of an empty list or map.
inline constexpr const char* kNothing = "nothing";
inline constexpr const char* kNoElements = "no elements";
inline bool is_of_leaf(const LeafDescription& description) {
  return description.type != kNothing && description.type != kNoElements;
}

LeafRef tensor_leaf(AnyTensor& tensor);
std::string describe_tensor(const AnyTensor& tensor);

template <class T>
LeafRef leaf_ref(T& leaf) {
  if constexpr (Element<T>) {
    return {dtype_of<T>(), 1, &leaf, nullptr};
  } else if constexpr (UserElement<T>) {
    return {.count = 1, .data = &leaf, .own = &kElementFunctions<T>};
  } else if constexpr (is_numeric_vector<T>()) {
    return {dtype_of<typename T::value_type>(), leaf.size(), leaf.data(), nullptr};
  } else {
    return tensor_leaf(leaf.any());
  }
}

template <class T>
std::string key_text(const T& key) {
  std::ostringstream text;
  text << key;
  return text.str();
}

template <class T>
void describe_into(const T& value, const std::string& path, std::vector<LeafDescription>& out) {
  if constexpr (Element<T>) {
    out.push_back({path, to_string(dtype_of<T>())});
  } else if constexpr (UserElement<T>) {
    out.push_back({path, name_of(kElementFunctions<T>)});
  } else if constexpr (is_numeric_vector<T>()) {
    out.push_back({path, to_string(dtype_of<typename T::value_type>()) + "[" +
                             std::to_string(value.size()) + "]"});
  } else if constexpr (IsTensor<T>::value) {
    out.push_back({path, describe_tensor(value.any())});
  } else if constexpr (IsMap<T>::value) {
    if (value.empty()) out.push_back({path, kNoElements});
    for (const auto& [key, child] : value) {
      describe_into(child, path + "{" + key_text(key) + "}", out);
    }
  } else if constexpr (IsOptional<T>::value) {
    if (value)
      describe_into(*value, path, out);
    else
      out.push_back({path, kNothing});
  } else {
    if constexpr (IsVector<T>::value) {
      if (value.empty()) out.push_back({path, kNoElements});
    }
    int index = 0;
    for_each_child(value, [&](const auto& child) {
      describe_into(child, path + "[" + std::to_string(index++) + "]", out);
    });
  }
}

template <class T>
bool same_tree(const T& a, const T& b);

template <class Tuple, std::size_t... I>
bool same_children(const Tuple& a, const Tuple& b, std::index_sequence<I...>) {
  return (same_tree(std::get<I>(a), std::get<I>(b)) && ...);
}

/// Whether two values differ in nothing but the lengths and contents of their leaves.
template <class T>
bool same_tree(const T& a, const T& b) {
  if constexpr (is_leaf<T>()) {
    return true;
  } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same_tree(a[i], b[i])) return false;
    }
    return true;
  } else if constexpr (IsMap<T>::value) {
    if (a.size() != b.size()) return false;
    for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j) {
      if (a.key_comp()(i->first, j->first) || a.key_comp()(j->first, i->first)) return false;
      if (!same_tree(i->second, j->second)) return false;
    }
    return true;
  } else if constexpr (IsOptional<T>::value) {
    return a.has_value() == b.has_value() && (!a || same_tree(*a, *b));
  } else if constexpr (IsTuple<T>::value) {
    return same_children(a, b, std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    const auto left = T::members(a);
    const auto right = T::members(b);
    return same_children(left, right,
                         std::make_index_sequence<std::tuple_size_v<decltype(T::members(a))>>());
  }
}

}  // namespace detail

/// Calls `visit(leaf)` for each leaf of `value`, in order. Leaves keep their types.
template <class T, class Visit>
  requires Nest<std::remove_cv_t<T>>
void for_each_leaf(T& value, Visit&& visit) {
  if constexpr (detail::is_leaf<std::remove_cv_t<T>>()) {
    visit(value);
  } else {
    detail::for_each_child(value, [&](auto& child) { for_each_leaf(child, visit); });
  }
}

/// The leaves of `value`, in order. Valid until `value` is moved, destroyed or changed in
/// structure.
template <Nest T>
std::vector<LeafRef> leaves_of(T& value) {
  std::vector<LeafRef> leaves;
  for_each_leaf(value, [&](auto& leaf) { leaves.push_back(detail::leaf_ref(leaf)); });
  return leaves;
}

/// The leaves of `value` in words, in order; empty optionals, lists and maps are listed too.
template <Nest T>
std::vector<LeafDescription> describe_leaves(const T& value) {
  std::vector<LeafDescription> out;
  detail::describe_into(value, "", out);
  return out;
}

}  // namespace belfry
