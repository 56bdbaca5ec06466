// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/shape.h"
#include "belfry/testing/values.h"
#include "contracts/contract_case.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::testing {

/// The types of elements that can be reduced.
using IntegerTypes = std::tuple<std::int32_t, std::int8_t, std::int64_t, std::uint8_t, std::int16_t,
                                std::uint16_t, std::uint32_t, std::uint64_t>;
using FloatingTypes = std::tuple<float, double, Float16, BFloat16>;

/// The type of the additions: 16-bit floats are rounded once, integers wrap.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t,
                                std::conditional_t<sizeof(T) == 2, float, T>>;

/// Calls `fn` with a value of each type of `Types`, in their order.
template <class Types, class F>
void for_each_type(const F& fn) {
  std::apply([&](const auto&... of_type) { (fn(of_type), ...); }, Types());
}

/// Ranks 0 to 3 and at most 40 elements, also none. Shrinks towards a scalar.
inline Shape draw_shape() {
  const auto extents = rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 4), [](std::size_t rank) {
    constexpr std::int64_t most[] = {1, 40, 6, 3};
    return rc::gen::container<std::vector<std::int64_t>>(
        rank, rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(0, most[rank] + 1)));
  });
  return Shape(*extents.as("shape"));
}

/// The row of each replica, by replica id.
template <class T>
using RowsOf = std::vector<std::vector<T>>;

template <class T>
RowsOf<T> rows_of(const Values& values, int replicas, const Shape& shape) {
  RowsOf<T> rows;
  rows.reserve(static_cast<std::size_t>(replicas));
  for (int id = 0; id < replicas; ++id) {
    rows.push_back(values_of<T>(values, id, static_cast<std::size_t>(shape.count())));
  }
  return rows;
}

}  // namespace belfry::testing
