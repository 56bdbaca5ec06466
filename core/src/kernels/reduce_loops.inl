// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The loops over packs. Part of reduce_baseline.cpp and reduce_wide.cpp, after reduce_pack.inl.
//
// `#pragma GCC unroll 16` stands before loops whose packs are in registers: the loops run at most
// 16 times, and a loop with a counter would need the packs in memory.

enum class Reach {
  kNear,        ///< Operands fit into a cache.
  kInPlace,     ///< Each output is the same view as its input.
  kFar,         ///< Operands do not fit into a cache: inputs are prefetched.
  kInPlaceFar,  ///< Both kInPlace and kFar.
  kStream,      ///< Like kFar, with stores that bypass the caches.
};

template <class T, std::size_t lines>
constexpr std::size_t kPacks = lines * kLineBytes / (Pack<T>::kElements * sizeof(T));

template <Reach reach>
constexpr bool kFetches =
    reach == Reach::kFar || reach == Reach::kInPlaceFar || reach == Reach::kStream;
template <Reach reach>
constexpr bool kIsInPlace = reach == Reach::kInPlace || reach == Reach::kInPlaceFar;

/// Cache lines in each step. Two for up to 4 inputs, if registers suffice: with a single line,
/// addresses cost more than sums. Operands outside the cache are read and written a line at a time,
/// because the processor cannot combine the stores of longer steps at many places. In place, a
/// single line was never slower.
template <std::size_t inputs, Reach reach>
constexpr std::size_t kLines = reach == Reach::kNear && inputs <= 4 ? 2 : 1;

/// The addresses to read from. In place, a single register holds both addresses of an operand.
template <Reach reach, class T, std::size_t n>
constexpr const auto& inputs_at(T* const (&outputs)[n], const T* const (&inputs)[n]) {
  if constexpr (kIsInPlace<reach>) {
    return outputs;
  } else {
    return inputs;
  }
}

/// Prefetches `bytes` bytes of each of `n` operands, `ahead` bytes from element `i`.
template <class T, std::size_t n, std::size_t bytes>
BELFRY_TARGET __attribute__((always_inline)) inline void fetch_ahead(const T* const* from,
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

template <class T, ReductionOrder order, Reach reach, std::size_t n>
BELFRY_TARGET std::size_t fused(const T* const* in, T* const* out, std::size_t first,
                                std::size_t last, ReduceEnd end) {
  constexpr std::size_t kPack = Pack<T>::kElements;
  constexpr std::size_t kUnroll = kPacks<T, kLines<n, reach>>;
  const T* inputs[n];
  T* to[n];
  for (std::size_t k = 0; k < n; ++k) {
    inputs[k] = in[k];
    to[k] = out[k];
  }
  const auto& from = inputs_at<reach>(to, inputs);
  std::size_t i = first;
  for (; last - i >= kUnroll * kPack; i += kUnroll * kPack) {
    Pack<T> sum[kUnroll];
    if constexpr (kFetches<reach>) {
      fetch_ahead<T, n, kUnroll * kPack * sizeof(T)>(from, i, end.ahead);
    }
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
    finish<T, kUnroll>(sum, end.divisor);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t u = 0; u < kUnroll; ++u) {
        sum[u].store(to[k] + i + u * kPack, reach == Reach::kStream);
      }
    }
  }
  return i;
}

/// The same in replica order, with the sums of the next step computed between the stores of the
/// present step. The stores of a step fill the processor's store queue, and instructions behind
/// them would wait.
template <class T, Reach reach, std::size_t n>
BELFRY_TARGET std::size_t fused_ahead(const T* const* in, T* const* out, std::size_t first,
                                      std::size_t last, ReduceEnd end) {
  constexpr std::size_t kPack = Pack<T>::kElements;
  // Registers hold the sums of two steps, of two lines each if a register holds half a line.
  constexpr std::size_t kAtOnce = kFetches<reach> || 2 * kVectorBytes < kLineBytes ? 1 : 2;
  constexpr std::size_t kUnroll = kPacks<T, kAtOnce>;
  constexpr std::size_t kStep = kUnroll * kPack;
  if (last - first < kStep) return first;
  const T* inputs[n];
  T* to[n];
  for (std::size_t k = 0; k < n; ++k) {
    inputs[k] = in[k];
    to[k] = out[k];
  }
  const auto& from = inputs_at<reach>(to, inputs);
  Pack<T> sum[kUnroll];
  Pack<T> next[kUnroll];
  std::size_t i = first;
  const auto add = [&](std::size_t k, std::size_t at) BELFRY_TARGET __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (std::size_t u = 0; u < kUnroll; ++u) {
      Pack<T> term;
      term.load(from[k] + at + u * kPack);
      if (k != 0) next[u].add(term);
      if (k == 0) next[u] = term;
    }
  };
  const auto finish_next = [&]() BELFRY_TARGET __attribute__((always_inline)) {
    finish<T, kUnroll>(next, end.divisor);
#pragma GCC unroll 16
    for (std::size_t u = 0; u < kUnroll; ++u) sum[u] = next[u];
  };
  const auto store = [&](std::size_t k) BELFRY_TARGET __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (std::size_t u = 0; u < kUnroll; ++u) {
      sum[u].store(to[k] + i + u * kPack, reach == Reach::kStream);
    }
  };
  for (std::size_t k = 0; k < n; ++k) add(k, i);
  finish_next();
  for (; last - i >= 2 * kStep; i += kStep) {
#pragma GCC unroll 16
    for (std::size_t k = 0; k < n; ++k) {
      if constexpr (kFetches<reach>) {
        fetch_ahead<T, 1, kStep * sizeof(T)>(from + k, i + kStep, end.ahead);
      }
      add(k, i + kStep);
      store(k);
    }
    finish_next();
  }
  for (std::size_t k = 0; k < n; ++k) store(k);
  return i + kStep;
}

/// Whether `fused_ahead` is faster than `fused`, as measured: in a cache up to 15 inputs, because
/// 16 inputs and outputs have too many addresses for two lines each, but not for few inputs whose
/// sums need more registers than elements; in place from 13 inputs on; with stores that bypass the
/// caches from 9 inputs on.
template <class T, ReductionOrder order, Reach reach, std::size_t n>
constexpr bool is_ahead() {
  if (order != ReductionOrder::kReplicaOrder) return false;
  if (kIsInPlace<reach>) return n > 12;
  if (reach == Reach::kStream) return n > 8;
  return reach == Reach::kNear && n < 16 && (n > 8 || sizeof(Pack<T>) == kVectorBytes);
}

/// The loop to use. For more than 8 inputs the processor's own prefetching is better than
/// instructions, except in place. A tree in place uses the loops that are not in place, which are
/// fast enough.
template <ReductionOrder order, Reach reach, std::size_t n>
constexpr Reach kLoop = [] {
  if (kIsInPlace<reach> && order == ReductionOrder::kTree) {
    return kFetches<reach> ? Reach::kFar : Reach::kNear;
  }
  return reach == Reach::kFar && n > 8 ? Reach::kNear : reach;
}();

template <class T, ReductionOrder order, Reach reach, std::size_t... kIndex>
typename ReduceLoops<T>::Fused find_fused(std::size_t inputs, std::index_sequence<kIndex...>) {
  typename ReduceLoops<T>::Fused found = nullptr;
  const auto use = [&]<std::size_t n>() {
    constexpr Reach kUsed = kLoop<order, reach, n>;
    if constexpr (is_ahead<T, order, kUsed, n>()) {
      found = fused_ahead<T, kUsed, n>;
    } else {
      found = fused<T, order, kUsed, n>;
    }
    return true;
  };
  (void)((kIndex + 2 == inputs && use.template operator()<kIndex + 2>()) || ...);
  return found;
}

template <class T, Reach reach>
typename ReduceLoops<T>::Fused fused_for(ReductionOrder order, std::size_t inputs) {
  constexpr bool kOrdered = element::kIsFloating<T>;
  using UpTo16 = std::make_index_sequence<15>;
  using UpTo8 = std::make_index_sequence<7>;
  if constexpr (kOrdered) {
    if (order == ReductionOrder::kTree) {
      return find_fused<T, ReductionOrder::kTree, reach>(inputs, UpTo8{});
    }
  }
  return find_fused<T, ReductionOrder::kReplicaOrder, reach>(inputs, UpTo16{});
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
  constexpr std::size_t kStep = 4;
  const auto store = [&]<std::size_t n>(std::size_t p) BELFRY_TARGET
      __attribute__((always_inline)) {
        Pack<T> sum[n];
        for (std::size_t u = 0; u < n; ++u) sum[u] = sums[p + u];
        finish<T, n>(sum, end.divisor);
        for (std::size_t u = 0; u < n; ++u) {
          sum[u].store(out + (p + u) * Pack<T>::kElements, end.stream);
        }
      };
  std::size_t p = 0;
  for (; packs - p >= kStep; p += kStep) store.template operator()<kStep>(p);
  for (; p < packs; ++p) store.template operator()<1>(p);
}

template <class T>
ReduceLoops<T> loops() {
  return {fused_for<T, Reach::kNear>,
          fused_for<T, Reach::kInPlace>,
          fused_for<T, Reach::kFar>,
          fused_for<T, Reach::kInPlaceFar>,
          fused_for<T, Reach::kStream>,
          Pack<T>::kElements,
          sizeof(Pack<T>),
          fold_group<T>,
          tree_group<T>,
          add_tile<T>,
          finish_tile<T>};
}
