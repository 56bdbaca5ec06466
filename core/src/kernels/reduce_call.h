// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_types.h"
#include "belfry/reduce_op.h"

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <type_traits>

/// The n-way reduction behind `reduce_on_host`.
///
/// Moving memory is all it costs when done well: one pass that reads each input and writes each
/// output once, in registers (`fused`), for up to 16 replicas; beyond, and where the outputs are
/// not as many as the inputs, tiles that stay in the first-level cache. Orders are orders of
/// additions per element, so vectors of any width give the same bits.
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

/// Elements of one chunk of a ring: chunk c starts at replica c.
inline std::size_t ring_chunk(std::size_t count, std::size_t replicas) {
  return (count + replicas - 1) / replicas;
}

/// A typed reduction. Outputs are inputs' very views or do not overlap them.
template <class T>
struct ReduceCall {
  // Of 100 elements a leaf, making lists on the heap took longer than adding them up.
  boost::container::small_vector<const T*, 16> inputs;
  boost::container::small_vector<T*, 16> outputs;
  std::size_t count = 0;
  ReductionOrder order = ReductionOrder::kReplicaOrder;
  bool mean = false;
  bool in_place = false;  ///< Each output is where its input is.
  std::size_t ahead = 0;  ///< Inputs are fetched this many bytes ahead; 0: they are in a cache.
  bool stream = false;    ///< Stores pass the caches by.
};

/// The reduction of elements [first, last), one by one: the definition of every order.
template <class T>
void reduce_elements(const ReduceCall<T>& call, std::size_t first, std::size_t last);

/// The same with vectors. `wide`: use the widest vectors this processor has.
template <class T>
void reduce_vectors(const ReduceCall<T>& call, bool wide);

}  // namespace belfry::kernels
