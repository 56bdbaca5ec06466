// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/reduce_call.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace belfry::kernels {
namespace {

template <class T>
constexpr std::size_t kTile = 32768 / sizeof(Sum<T>);

template <class A, class T>
void load_tile(A* sum, const T* in, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] = static_cast<A>(in[i]);
}

template <class A, class T>
void add_tile(A* sum, const T* in, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] = static_cast<A>(sum[i] + static_cast<A>(in[i]));
}

template <class T>
void fold_in_order(const ReduceCall<T>& call, std::size_t first, std::size_t count, Sum<T>* sum) {
  load_tile(sum, call.inputs[0] + first, count);
  for (std::size_t k = 1; k < call.inputs.size(); ++k) add_tile(sum, call.inputs[k] + first, count);
}

// Neighbours are added up, then neighbouring sums, ...: a binary counter of partial sums.
template <class T>
void fold_as_tree(const ReduceCall<T>& call, std::size_t first, std::size_t count, Sum<T>* sum) {
  using A = Sum<T>;
  std::vector<std::vector<A>> partial;
  const std::size_t n = call.inputs.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<A> tile(count);
    load_tile(tile.data(), call.inputs[k] + first, count);
    for (std::size_t bits = k; (bits & 1U) != 0; bits >>= 1) {
      add_tile(partial.back().data(), tile.data(), count);
      tile = std::move(partial.back());
      partial.pop_back();
    }
    partial.push_back(std::move(tile));
  }
  while (partial.size() > 1) {
    add_tile(partial[partial.size() - 2].data(), partial.back().data(), count);
    partial.pop_back();
  }
  std::copy_n(partial[0].data(), count, sum);
}

template <class T>
void fold_as_ring(const ReduceCall<T>& call, std::size_t first, std::size_t count, Sum<T>* sum) {
  using A = Sum<T>;
  const std::size_t n = call.inputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t k = (first + i) % n;
    A folded = static_cast<A>(call.inputs[k][first + i]);
    for (std::size_t step = 1; step < n; ++step) {
      k = k + 1 == n ? 0 : k + 1;
      folded = static_cast<A>(folded + static_cast<A>(call.inputs[k][first + i]));
    }
    sum[i] = folded;
  }
}

}  // namespace

template <class T>
void reduce_tiled(const ReduceCall<T>& call) {
  std::vector<Sum<T>> sum(std::min(call.count, kTile<T>));
  std::vector<T> result(sum.size());
  for (std::size_t first = 0; first < call.count; first += kTile<T>) {
    const std::size_t count = std::min(kTile<T>, call.count - first);
    if (call.order == ReductionOrder::kTree) {
      fold_as_tree(call, first, count, sum.data());
    } else if (call.order == ReductionOrder::kRing) {
      fold_as_ring(call, first, count, sum.data());
    } else {
      fold_in_order(call, first, count, sum.data());
    }
    for (std::size_t i = 0; i < count; ++i) {
      result[i] = static_cast<T>(finish_sum(sum[i], call.mean, call.inputs.size()));
    }
    for (T* out : call.outputs) std::copy_n(result.data(), count, out + first);
  }
}

template void reduce_tiled(const ReduceCall<float>&);
template void reduce_tiled(const ReduceCall<double>&);
template void reduce_tiled(const ReduceCall<Float16>&);
template void reduce_tiled(const ReduceCall<BFloat16>&);
template void reduce_tiled(const ReduceCall<std::uint8_t>&);
template void reduce_tiled(const ReduceCall<std::uint16_t>&);
template void reduce_tiled(const ReduceCall<std::uint32_t>&);
template void reduce_tiled(const ReduceCall<std::uint64_t>&);

}  // namespace belfry::kernels
