// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_types.h"
#include "belfry/backend/kernel.h"
#include "kernels/dispatch.h"

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

/// The n-way reduction behind `reduce_on_host`.
namespace belfry::kernels {

/// What is added up: floats as they are or, from 16 bits, widened; integers as bits that wrap.
template <class T>
struct SumOf {
  using Type = std::make_unsigned_t<T>;
};
template <class T>
  requires element::kIsFloating<T>
struct SumOf<T> {
  using Type = element::Compute<T>;
};
template <class T>
using Sum = typename SumOf<T>::Type;

/// A typed reduction. Outputs are inputs' very views or do not overlap them.
template <class T>
struct ReduceCall {
  std::vector<const T*> inputs;
  std::vector<T*> outputs;
  std::size_t count = 0;
  ReductionOrder order = ReductionOrder::kReplicaOrder;
  bool mean = false;
  bool stream = false;  ///< Stores pass the caches by.
};

/// The end of a reduction of `n` values: MEAN's division, then the one NaN.
template <class A>
A finish_sum(A sum, bool mean, std::size_t n) {
  if constexpr (std::is_floating_point_v<A>) {
    return element::canonical(mean ? sum / static_cast<A>(n) : sum);
  } else {
    return sum;
  }
}

/// Any number of inputs and outputs, tile by tile.
template <class T>
void reduce_tiled(const ReduceCall<T>& call);

}  // namespace belfry::kernels
