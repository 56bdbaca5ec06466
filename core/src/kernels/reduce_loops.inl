// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The loops over packs, for any number of inputs and outputs. Part of reduce_baseline.cpp and
// reduce_wide.cpp, after reduce_pack.inl.
//
// A step reduces the packs of a block: sums stay in registers while the step goes through the
// inputs, and then through the outputs. `#pragma GCC unroll 16` stands before loops over
// the packs of a block: a loop with a counter would need the packs in memory.
//
// Each of the first 16 operands has instructions of its own. Processors recognise a stream of
// memory by the address of the reading or writing instruction, and fetch ahead. With a shared
// instruction for all operands, 8 inputs of 4 MiB took 1.8 times as long.

constexpr std::size_t kUnrolled = 16;
using Unrolled = std::make_index_sequence<kUnrolled>;
using FewUnrolled = std::make_index_sequence<4>;  ///< Where time matters less.

/// The packs of a block: four registers of sums. With eight, 16 operands of 4 MiB took 1.3 times as
/// long; with two, operands in place took 1.1 times as long.
template <class T>
constexpr std::size_t kBlock = 4 * kVectorBytes / sizeof(Pack<T>);

/// The operands and the end of a reduction, passed by value: for the compiler, a store might change
/// a ReduceCall.
template <class T>
struct Operands {
  const T* const* in;
  T* const* out;
  std::size_t inputs;
  std::size_t outputs;
  std::size_t count;
  std::size_t divisor;  ///< MEAN's; 0: none.
  std::size_t ahead;    ///< Distance of prefetches in bytes.
  bool stream;          ///< Stores bypass the caches.
};

template <class T>
Operands<T> operands_of(const ReduceCall<T>& call, bool stream) {
  return {call.inputs.data(), call.outputs.data(),
          call.inputs.size(), call.outputs.size(),
          call.count,         call.mean ? call.inputs.size() : 0,
          call.ahead,         stream};
}

/// Calls `visit(k)` for each operand k from `first` (0 or 1) up to `count`.
template <class Visit, std::size_t... kIndex>
BELFRY_TARGET __attribute__((always_inline)) inline void for_operands(
    std::size_t first, std::size_t count, Visit visit, std::index_sequence<kIndex...>) {
  (void)((kIndex < first || (kIndex < count && (visit(kIndex), true))) && ...);
  for (std::size_t k = std::max(sizeof...(kIndex), first); k < count; ++k) visit(k);
}

template <class T, std::size_t packs>
BELFRY_TARGET __attribute__((always_inline)) inline void load_block(Pack<T> (&sums)[packs],
                                                                    const T* from) {
#pragma GCC unroll 16
  for (std::size_t p = 0; p < packs; ++p) sums[p].load(from + p * Pack<T>::kElements);
}

template <class T, std::size_t packs>
BELFRY_TARGET __attribute__((always_inline)) inline void add_block(Pack<T> (&sums)[packs],
                                                                   const T* from) {
#pragma GCC unroll 16
  for (std::size_t p = 0; p < packs; ++p) {
    Pack<T> term;
    term.load(from + p * Pack<T>::kElements);
    sums[p].add(term);
  }
}

template <class T, std::size_t packs>
BELFRY_TARGET __attribute__((always_inline)) inline void store_block(const Pack<T> (&sums)[packs],
                                                                     T* to, bool stream) {
  if (stream) {
#pragma GCC unroll 16
    for (std::size_t p = 0; p < packs; ++p) sums[p].store(to + p * Pack<T>::kElements, true);
  } else {
#pragma GCC unroll 16
    for (std::size_t p = 0; p < packs; ++p) sums[p].store(to + p * Pack<T>::kElements, false);
  }
}

template <class T, std::size_t packs>
BELFRY_TARGET __attribute__((always_inline)) inline void fetch_block(const T* from,
                                                                     std::size_t ahead) {
  constexpr std::size_t kBytes = packs * Pack<T>::kElements * sizeof(T);
  const auto* const at = reinterpret_cast<const std::byte*>(from) + ahead;
  for (std::size_t b = 0; b < kBytes; b += kLineBytes) __builtin_prefetch(at + b);
}

/// Divides the sums, makes NaNs canonical, and stores the block in every output.
template <class T, std::size_t packs, class Indices>
BELFRY_TARGET __attribute__((always_inline)) inline void store_sums(const Operands<T>& call,
                                                                    Pack<T> (&sums)[packs],
                                                                    std::size_t i, bool stream,
                                                                    Indices indices) {
  finish<T, packs>(sums, call.divisor);
  const auto store = [&](std::size_t k) BELFRY_TARGET
      __attribute__((always_inline)) { store_block(sums, call.out[k] + i, stream); };
  for_operands(0, call.outputs, store, indices);
}

/// A left fold over the inputs. `far`: operands do not fit into a cache; inputs are prefetched, and
/// stores may bypass the caches.
template <class T, std::size_t packs, bool far, class Indices>
BELFRY_TARGET std::size_t fold_blocks(Operands<T> call, std::size_t first) {
  constexpr std::size_t kStep = packs * Pack<T>::kElements;
  std::size_t i = first;
  for (; call.count - i >= kStep; i += kStep) {
    Pack<T> sums[packs];
    const auto add = [&](std::size_t k) BELFRY_TARGET __attribute__((always_inline)) {
      if constexpr (far) fetch_block<T, packs>(call.in[k] + i, call.ahead);
      add_block(sums, call.in[k] + i);
    };
    if constexpr (far) fetch_block<T, packs>(call.in[0] + i, call.ahead);
    load_block(sums, call.in[0] + i);
    for_operands(1, call.inputs, add, Indices{});
    store_sums(call, sums, i, far && call.stream, Indices{});
  }
  return i;
}

/// A left fold in place: each output is the view of its input. The stores of a step alternate with
/// the additions of the next step, and share addresses.
template <class T, std::size_t packs, bool far>
BELFRY_TARGET std::size_t fold_in_place(Operands<T> call, std::size_t first) {
  constexpr std::size_t kStep = packs * Pack<T>::kElements;
  if (call.count - first < kStep) return first;
  Pack<T> sums[packs];
  load_block(sums, call.out[0] + first);
  for (std::size_t k = 1; k < call.inputs; ++k) add_block(sums, call.out[k] + first);
  finish<T, packs>(sums, call.divisor);
  std::size_t i = first;
  for (; call.count - i >= 2 * kStep; i += kStep) {
    Pack<T> next[packs];
    const auto visit = [&](std::size_t k) BELFRY_TARGET __attribute__((always_inline)) {
      T* const at = call.out[k] + i;
      if constexpr (far) fetch_block<T, packs>(at + kStep, call.ahead);
      if (k == 0) {
        load_block(next, at + kStep);
      } else {
        add_block(next, at + kStep);
      }
      store_block(sums, at, false);
    };
    visit(0);
    for_operands(1, call.inputs, visit, Unrolled{});
    finish<T, packs>(next, call.divisor);
#pragma GCC unroll 16
    for (std::size_t p = 0; p < packs; ++p) sums[p] = next[p];
  }
  for (std::size_t k = 0; k < call.inputs; ++k) store_block(sums, call.out[k] + i, false);
  return i + kStep;
}

/// A tree over 1 to sizeof...(kIndex) inputs. After k inputs, as many sums wait for a neighbour as
/// k has bits, the largest first: each bit is a complete tree.
template <class T, std::size_t packs, std::size_t... kIndex>
BELFRY_TARGET __attribute__((always_inline)) inline void fold_small_tree(
    Pack<T> (&result)[packs], const T* const* in, std::size_t inputs, std::size_t i,
    std::index_sequence<kIndex...>) {
  Pack<T> sums[std::bit_width(sizeof...(kIndex))][packs];
  const auto join = [&](std::size_t right) BELFRY_TARGET __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (std::size_t p = 0; p < packs; ++p) sums[right - 1][p].add(sums[right][p]);
  };
  const auto add = [&]<std::size_t k>() BELFRY_TARGET __attribute__((always_inline)) {
    constexpr int kWaiting = std::popcount(k);
    load_block(sums[kWaiting], in[k] + i);
    constexpr int kAfter = std::popcount(k + 1);
#pragma GCC unroll 16
    for (int right = kWaiting; right >= kAfter; --right) join(right);
    if (inputs != k + 1) return true;
#pragma GCC unroll 16
    for (int right = kAfter - 1; right > 0; --right) join(right);
    return false;
  };
  (void)(add.template operator()<kIndex>() && ...);
#pragma GCC unroll 16
  for (std::size_t p = 0; p < packs; ++p) result[p] = sums[0][p];
}

/// A tree over any number of inputs: the largest complete tree is on the left.
template <class T, std::size_t packs>
BELFRY_TARGET __attribute__((noinline)) void fold_tree(Pack<T> (&result)[packs], const T* const* in,
                                                       std::size_t inputs, std::size_t i) {
  if (inputs <= FewUnrolled::size()) {
    return fold_small_tree(result, in, inputs, i, FewUnrolled{});
  }
  const std::size_t left = std::bit_ceil(inputs) / 2;
  Pack<T> right[packs];
  fold_tree(result, in, left, i);
  fold_tree(right, in + left, inputs - left, i);
  for (std::size_t p = 0; p < packs; ++p) result[p].add(right[p]);
}

/// Trees. Sums of few inputs stay in registers, and the processor itself fetches ahead.
template <class T, std::size_t packs, class Indices>
BELFRY_TARGET std::size_t tree_blocks(Operands<T> call, std::size_t first) {
  constexpr std::size_t kStep = packs * Pack<T>::kElements;
  std::size_t i = first;
  for (; call.count - i >= kStep; i += kStep) {
    Pack<T> sums[packs];
    if (call.inputs <= Indices::size()) {
      fold_small_tree(sums, call.in, call.inputs, i, Indices{});
    } else {
      for (std::size_t k = 0; k < call.inputs && call.ahead != 0; ++k) {
        fetch_block<T, packs>(call.in[k] + i, call.ahead);
      }
      Pack<T> result[packs];
      fold_tree(result, call.in, call.inputs, i);
#pragma GCC unroll 16
      for (std::size_t p = 0; p < packs; ++p) sums[p] = result[p];
    }
    store_sums(call, sums, i, call.stream, Indices{});
  }
  return i;
}

template <class T, bool far>
std::size_t fold_packs(const ReduceCall<T>& call, const Operands<T>& operands, std::size_t first) {
  if constexpr (std::is_floating_point_v<T>) {
    if (call.in_place) return fold_in_place<T, kBlock<T>, far>(operands, first);
  }
  return fold_blocks<T, kBlock<T>, far, Unrolled>(operands, first);
}

template <class T>
std::size_t reduce_packs(const ReduceCall<T>& call, std::size_t first, bool stream) {
  const Operands<T> operands = operands_of(call, stream);
  if constexpr (element::kIsFloating<T>) {
    // A tree of three terms is a left fold.
    if (call.order == ReductionOrder::kTree && operands.inputs > 3) {
      const std::size_t rest = tree_blocks<T, kBlock<T>, Unrolled>(operands, first);
      return tree_blocks<T, 1, FewUnrolled>(operands, rest);
    }
  }
  const std::size_t rest = call.ahead != 0 || stream ? fold_packs<T, true>(call, operands, first)
                                                     : fold_packs<T, false>(call, operands, first);
  return fold_blocks<T, 1, false, FewUnrolled>(operands, rest);
}
