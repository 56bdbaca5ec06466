// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Part of reduce_baseline.cpp and reduce_wide.cpp, after reduce_pack.inl.

/// Packs a step: each stream is read and written by the cache line, where there are many streams
/// that are far; longer steps at many places are more than the processor's combining of stores
/// keeps up with. By two lines elsewhere, lest addresses cost more than sums, as far as registers
/// suffice.
template <class T, std::size_t inputs, bool far>
constexpr std::size_t kPacks =
    (inputs <= 4 || (inputs > 8 && !far) ? 2 : 1) * kLineBytes / (Pack<T>::kElements * sizeof(T));

/// Begins to load what `inputs` steps of `bytes` read `ahead` bytes from here.
template <class T, std::size_t n, std::size_t bytes>
BELFRY_TARGET inline __attribute__((always_inline)) void fetch_ahead(const T* const* from,
                                                                     std::size_t i,
                                                                     std::size_t ahead) {
#pragma GCC unroll 16
  for (std::size_t k = 0; k < n; ++k) {
    const auto* const line = reinterpret_cast<const std::byte*>(from[k] + i) + ahead;
    for (std::size_t b = 0; b < bytes; b += kLineBytes) __builtin_prefetch(line + b);
  }
}

template <class T, std::size_t first, std::size_t count>
BELFRY_TARGET inline void fold_tree(Pack<T>& sum, const T* const* in, std::size_t i) {
  if constexpr (count == 1) {
    sum.load(in[first] + i);
  } else {
    constexpr std::size_t kLeft = std::bit_ceil(count) / 2;
    Pack<T> right;
    fold_tree<T, first, kLeft>(sum, in, i);
    fold_tree<T, first + kLeft, count - kLeft>(right, in, i);
    sum.add(right);
  }
}

template <class T, ReductionOrder order, bool far, std::size_t n>
BELFRY_TARGET std::size_t fused(const T* const* in, T* const* out, std::size_t first,
                                std::size_t last, ReduceEnd end) {
  constexpr std::size_t kPack = Pack<T>::kElements;
  constexpr std::size_t kUnroll = kPacks<T, n, far>;
  const T* from[n];
  T* to[n];
  for (std::size_t k = 0; k < n; ++k) {
    from[k] = in[k];
    to[k] = out[k];
  }
  std::size_t i = first;
  for (; last - i >= kUnroll * kPack; i += kUnroll * kPack) {
    Pack<T> sum[kUnroll];
    if constexpr (far) fetch_ahead<T, n, kUnroll * kPack * sizeof(T)>(from, i, end.ahead);
    if constexpr (order == ReductionOrder::kReplicaOrder) {
      for (std::size_t u = 0; u < kUnroll; ++u) sum[u].load(from[0] + i + u * kPack);
#pragma GCC unroll 16
      for (std::size_t k = 1; k < n; ++k) {
        for (std::size_t u = 0; u < kUnroll; ++u) {
          Pack<T> next;
          next.load(from[k] + i + u * kPack);
          sum[u].add(next);
        }
      }
    } else {
      for (std::size_t u = 0; u < kUnroll; ++u) fold_tree<T, 0, n>(sum[u], from, i + u * kPack);
    }
    for (std::size_t u = 0; u < kUnroll; ++u) sum[u].finish(end.divisor);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t u = 0; u < kUnroll; ++u) {
        sum[u].store(to[k] + i + u * kPack, far && end.stream);
      }
    }
  }
  return i;
}

template <class T, ReductionOrder order, bool far, std::size_t... kIndex>
typename ReduceLoops<T>::Fused find_fused(std::size_t inputs, std::index_sequence<kIndex...>) {
  typename ReduceLoops<T>::Fused found = nullptr;
  (void)((kIndex + 2 == inputs && (found = fused<T, order, far, kIndex + 2>) != nullptr) || ...);
  return found;
}

template <class T, bool far>
typename ReduceLoops<T>::Fused fused_for(ReductionOrder order, std::size_t inputs) {
  constexpr bool kOrdered = element::kIsFloating<T>;
  using UpTo16 = std::make_index_sequence<15>;
  using UpTo8 = std::make_index_sequence<7>;
  if constexpr (kOrdered) {
    if (order == ReductionOrder::kTree) {
      return find_fused<T, ReductionOrder::kTree, far>(inputs, UpTo8{});
    }
  }
  return find_fused<T, ReductionOrder::kReplicaOrder, far>(inputs, UpTo16{});
}

template <class T, std::size_t group>
BELFRY_TARGET void fold_group_of(Pack<T>* tile, const T* const* in, std::size_t first,
                                 std::size_t packs, bool more) {
  const T* from[group];
  for (std::size_t k = 0; k < group; ++k) from[k] = in[k] + first;
  for (std::size_t p = 0; p < packs; ++p) {
    Pack<T> sum;
    sum.load(from[0] + p * Pack<T>::kElements);
    if (more) {
      Pack<T> before = tile[p];
      before.add(sum);
      sum = before;
    }
    for (std::size_t k = 1; k < group; ++k) {
      Pack<T> next;
      next.load(from[k] + p * Pack<T>::kElements);
      sum.add(next);
    }
    tile[p] = sum;
  }
}

template <class T, std::size_t group>
BELFRY_TARGET void tree_group_of(Pack<T>* tile, const T* const* in, std::size_t first,
                                 std::size_t packs) {
  for (std::size_t p = 0; p < packs; ++p) {
    fold_tree<T, 0, group>(tile[p], in, first + p * Pack<T>::kElements);
  }
}

template <class Function, std::size_t... kIndex>
void with_group(std::size_t group, Function function, std::index_sequence<kIndex...>) {
  (void)((kIndex + 1 == group ? (function.template operator()<kIndex + 1>(), true) : false) || ...);
}
using Groups = std::make_index_sequence<8>;

template <class T>
void fold_group(std::byte* tile, const T* const* in, std::size_t group, std::size_t first,
                std::size_t packs, bool more) {
  with_group(
      group,
      [&]<std::size_t count>() {
        fold_group_of<T, count>(reinterpret_cast<Pack<T>*>(tile), in, first, packs, more);
      },
      Groups{});
}

template <class T>
void tree_group(std::byte* tile, const T* const* in, std::size_t group, std::size_t first,
                std::size_t packs) {
  with_group(
      group,
      [&]<std::size_t count>() {
        tree_group_of<T, count>(reinterpret_cast<Pack<T>*>(tile), in, first, packs);
      },
      Groups{});
}

template <class T>
BELFRY_TARGET void add_tile(std::byte* tile, const std::byte* right, std::size_t packs) {
  auto* sums = reinterpret_cast<Pack<T>*>(tile);
  const auto* others = reinterpret_cast<const Pack<T>*>(right);
  for (std::size_t p = 0; p < packs; ++p) sums[p].add(others[p]);
}

template <class T>
BELFRY_TARGET void finish_tile(T* out, const std::byte* tile, std::size_t packs, ReduceEnd end) {
  const auto* sums = reinterpret_cast<const Pack<T>*>(tile);
  for (std::size_t p = 0; p < packs; ++p) {
    Pack<T> sum = sums[p];
    sum.finish(end.divisor);
    sum.store(out + p * Pack<T>::kElements, end.stream);
  }
}

template <class T>
ReduceLoops<T> loops() {
  return {fused_for<T, false>, fused_for<T, true>, Pack<T>::kElements, sizeof(Pack<T>),
          fold_group<T>,       tree_group<T>,      add_tile<T>,        finish_tile<T>};
}
