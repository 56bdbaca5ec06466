// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_types.h"
#include "belfry/backend/kernel.h"
#include "belfry/detail/reductions/reduce_op.h"

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <type_traits>

/// The n-way reduction behind `reduce_on_host`.
///
/// A good reduction costs no more than moving the memory: a single pass reads each input and writes
/// each output once, with sums in registers. An order is an order of additions for each element:
/// vectors of any width give the same bits.
namespace belfry::kernels {

/// The type of the additions: floats of 32 and 64 bits, 16-bit floats widened, integers as unsigned
/// integers that wrap.
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

/// The number of elements in a chunk of a ring: chunk c starts at replica c.
inline std::size_t ring_chunk(std::size_t count, std::size_t replicas) {
  return (count + replicas - 1) / replicas;
}

/// A typed reduction. An output is the same view as an input, or does not overlap the input.
template <class T>
struct ReduceCall {
  // Small vectors: for leaves of 100 elements, lists on the heap took longer than the additions.
  boost::container::small_vector<const T*, 16> inputs;
  boost::container::small_vector<T*, 16> outputs;
  std::size_t count = 0;
  ReductionOrder order = ReductionOrder::kReplicaOrder;
  bool mean = false;
  bool in_place = false;  ///< Each output is the same view as its input.
  std::size_t ahead = 0;  ///< Distance of prefetches in bytes; 0: inputs are in a cache.
  bool stream = false;    ///< Stores bypass the caches.
};

/// The reduction of elements [first, last), one by one: the definition of every order.
template <class T>
void reduce_elements(const ReduceCall<T>& call, std::size_t first, std::size_t last);

/// The same with vectors. `wide`: with the widest vectors of this processor.
template <class T>
void reduce_vectors(const ReduceCall<T>& call, bool wide);

/// Maxima, minima and products, by operations of element_ops.h.
void reduce_by_steps(const KernelCall& call);

}  // namespace belfry::kernels
