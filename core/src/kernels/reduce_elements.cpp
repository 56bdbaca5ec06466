// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/reduce_call.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::kernels {
namespace {

template <class A>
A add(A left, A right) {
  return static_cast<A>(left + right);
}

// From replica `start` all the way round.
template <class T>
Sum<T> fold_from(const ReduceCall<T>& call, std::size_t start, std::size_t i) {
  const std::size_t n = call.inputs.size();
  auto sum = static_cast<Sum<T>>(call.inputs[start][i]);
  for (std::size_t step = 1; step < n; ++step) {
    const std::size_t k = start + step < n ? start + step : start + step - n;
    sum = add(sum, static_cast<Sum<T>>(call.inputs[k][i]));
  }
  return sum;
}

// Neighbours are added, then neighbouring sums, and further. A term without a neighbour waits.
template <class T>
Sum<T> fold_tree(const ReduceCall<T>& call, std::size_t i, std::vector<Sum<T>>& sums) {
  const std::size_t n = call.inputs.size();
  for (std::size_t k = 0; k < n; ++k) sums[k] = static_cast<Sum<T>>(call.inputs[k][i]);
  for (std::size_t reach = 1; reach < n; reach *= 2) {
    for (std::size_t k = 0; k + reach < n; k += 2 * reach) {
      sums[k] = add(sums[k], sums[k + reach]);
    }
  }
  return sums[0];
}

}  // namespace

template <class T>
void reduce_elements(const ReduceCall<T>& call, std::size_t first, std::size_t last) {
  if (first == last) return;  // Whole steps leave nothing, often, and divisions take long.
  const std::size_t n = call.inputs.size();
  const std::size_t chunk = ring_chunk(call.count, n);
  std::vector<Sum<T>> sums(call.order == ReductionOrder::kTree ? n : 0);
  for (std::size_t i = first; i < last; ++i) {
    Sum<T> sum = call.order == ReductionOrder::kTree   ? fold_tree(call, i, sums)
                 : call.order == ReductionOrder::kRing ? fold_from(call, i / chunk, i)
                                                       : fold_from(call, 0, i);
    if constexpr (element::kIsFloating<T>) {
      sum = element::canonical(call.mean ? sum / static_cast<Sum<T>>(n) : sum);
    }
    for (T* out : call.outputs) out[i] = static_cast<T>(sum);
  }
}

template void reduce_elements(const ReduceCall<float>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<double>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<Float16>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<BFloat16>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<std::uint8_t>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<std::uint16_t>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<std::uint32_t>&, std::size_t, std::size_t);
template void reduce_elements(const ReduceCall<std::uint64_t>&, std::size_t, std::size_t);

}  // namespace belfry::kernels
