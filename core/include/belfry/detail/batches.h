// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batch_types.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// Operations on batches: make batches of elements, count, take and add rows (SEM-93).
namespace belfry::detail {

/// All `parts`, of equal shapes, along a new first axis. Throws: InvalidArgumentError (kShape).
AnyTensor stack_tensors(const std::vector<const AnyTensor*>& parts, CallSite site);
/// The rows of a tensor. Throws: InvalidArgumentError (kShape) for a tensor without an axis.
std::int64_t tensor_rows(const AnyTensor& tensor, CallSite site);
/// Some rows, in the same storage.
AnyTensor slice_tensor(const AnyTensor& tensor, std::int64_t begin, std::int64_t count);
/// The rows of `tensor`, then the rows of `more`. Throws: InvalidArgumentError (kShape).
AnyTensor join_tensors(const AnyTensor& tensor, const AnyTensor& more, CallSite site);
/// Throws: StructureMismatchError (kStructure).
[[noreturn]] void throw_keys_differ(CallSite site);
[[noreturn]] void throw_rows_differ(std::int64_t rows, std::int64_t other, CallSite site);

/// Calls `visit(part of a, part of b)` for the parts of two values of equal structure.
template <class A, class B, class Visit>
void zip_parts(A& a, B& b, Visit&& visit) {
  using Plain = std::remove_cv_t<A>;
  if constexpr (IsMap<Plain>::value || IsArray<Plain>::value) {
    auto other = b.begin();
    for (auto& part : a) {
      if constexpr (IsMap<Plain>::value)
        visit(part.second, other->second);
      else
        visit(part, *other);
      ++other;
    }
  } else if constexpr (IsTuple<Plain>::value) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (visit(std::get<I>(a), std::get<I>(b)), ...);
    }(std::make_index_sequence<std::tuple_size_v<Plain>>());
  } else {
    auto left = Plain::members(a);
    auto right = Plain::members(b);
    zip_parts(left, right, visit);
  }
}

/// The number of rows. Throws: StructureMismatchError (kStructure) when parts have different
/// numbers; InvalidArgumentError (kShape).
template <class B>
std::int64_t rows_of(const B& batch, CallSite site) {
  if constexpr (IsVector<B>::value) {
    return static_cast<std::int64_t>(batch.size());
  } else if constexpr (IsTensor<B>::value) {
    return tensor_rows(batch.any(), site);
  } else {
    std::int64_t rows = -1;
    for_each_child(batch, [&](const auto& part) {
      const std::int64_t own = rows_of(part, site);
      if (rows != -1 && own != rows) throw_rows_differ(rows, own, site);
      rows = own;
    });
    return rows < 0 ? 0 : rows;
  }
}

/// The contents of an aggregate beside its parts. Parts are left empty if they can be empty.
template <class B>
B without_parts(B& batch) {
  if constexpr (std::is_copy_constructible_v<B>) {
    // Moved aside for a moment: the rows are then not copied.
    auto aside = std::apply(
        [](auto&... part) {
          return std::tuple<std::remove_reference_t<decltype(part)>...>(std::move(part)...);
        },
        B::members(batch));
    B out = batch;
    std::apply(
        [&](auto&... part) {
          std::apply([&](auto&... own) { ((part = std::move(own)), ...); }, aside);
        },
        B::members(batch));
    return out;
  } else {
    return B{};
  }
}

/// Rows `begin` to `begin + count`. Elements of vectors are moved out of `batch`.
template <class B>
B move_rows(B& batch, std::int64_t begin, std::int64_t count) {
  if constexpr (IsVector<B>::value) {
    const auto first = batch.begin() + begin;
    return B(std::make_move_iterator(first), std::make_move_iterator(first + count));
  } else if constexpr (IsTensor<B>::value) {
    return B(slice_tensor(batch.any(), begin, count));
  } else if constexpr (IsMap<B>::value) {
    B out;
    for (auto& [key, part] : batch) out.emplace_hint(out.end(), key, move_rows(part, begin, count));
    return out;
  } else if constexpr (IsArray<B>::value) {
    return std::apply([&](auto&... part) { return B{move_rows(part, begin, count)...}; }, batch);
  } else if constexpr (IsTuple<B>::value) {
    return std::apply([&](auto&... part) { return B(move_rows(part, begin, count)...); }, batch);
  } else {
    B out = without_parts(batch);
    zip_parts(out, batch, [&](auto& to, auto& from) { to = move_rows(from, begin, count); });
    return out;
  }
}

template <class M>
bool same_keys(const M& a, const M& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    return !a.key_comp()(x.first, y.first) && !a.key_comp()(y.first, x.first);
  });
}

/// Adds the rows of `more`. Throws: InvalidArgumentError (kShape), StructureMismatchError
/// (kStructure).
template <class B>
void append_rows(B& batch, B& more, CallSite site) {
  if constexpr (IsVector<B>::value) {
    batch.insert(batch.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  } else if constexpr (IsTensor<B>::value) {
    batch = B(join_tensors(batch.any(), more.any(), site));
  } else {
    if constexpr (IsMap<B>::value) {
      if (!same_keys(batch, more)) throw_keys_differ(site);
    }
    zip_parts(batch, more, [&](auto& to, auto& from) { append_rows(to, from, site); });
  }
}

/// A batch of `elements`, at least one.
template <class T>
typename Batched<T>::type make_batch(std::vector<T> elements, CallSite site);

template <std::size_t I, class T>
auto batch_part(std::vector<T>& elements, CallSite site) {
  std::vector<std::tuple_element_t<I, T>> parts;
  parts.reserve(elements.size());
  for (T& element : elements) parts.push_back(std::move(std::get<I>(element)));
  return make_batch(std::move(parts), site);
}

/// Throws: StructureMismatchError (kStructure).
[[noreturn]] void throw_elements_differ(std::size_t element, CallSite site);

template <class T>
T stack_elements(std::vector<T>& elements, CallSite site) {
  std::vector<std::vector<LeafRef>> leaves;
  for (T& element : elements) {
    if (!same_tree(elements.front(), element)) throw_elements_differ(leaves.size(), site);
    leaves.push_back(leaves_of(element));
  }
  T batch = elements.front();
  std::size_t leaf = 0;
  for (const LeafRef& target : leaves_of(batch)) {
    std::vector<const AnyTensor*> parts;
    parts.reserve(leaves.size());
    for (const auto& element : leaves) parts.push_back(element[leaf].tensor);
    *target.tensor = stack_tensors(parts, site);
    ++leaf;
  }
  return batch;
}

template <class T>
typename Batched<T>::type make_batch(std::vector<T> elements, CallSite site) {
  if constexpr (is_stackable<T>()) {
    return stack_elements(elements, site);
  } else if constexpr (IsTuple<T>::value) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return typename Batched<T>::type(batch_part<I>(elements, site)...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return elements;
  }
}

}  // namespace belfry::detail
