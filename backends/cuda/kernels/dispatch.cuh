// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_ops.h"
#include "belfry/backend/kernel.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstddef>

/// Maps the types of a call, known at run time, to templates, and chooses the shape of launches.
/// Operations are chosen inside kernels: all threads choose the same operation, and the number of
/// kernels is smaller.
namespace belfry::cuda::kernels {

template <class... Ts>
struct TypeList {};

using FloatingTypes = TypeList<float, double, Float16, BFloat16>;
using UnsignedTypes = TypeList<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
/// The types of operations that ignore the sign of integers: all types after `unsigned_of`.
using UnsignedOrFloatingTypes = TypeList<float, double, Float16, BFloat16, std::uint8_t,
                                         std::uint16_t, std::uint32_t, std::uint64_t>;
using NumericTypes =
    TypeList<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
             std::uint8_t, std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using IndexTypes = TypeList<std::int32_t, std::int64_t>;
using AllTypes = TypeList<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
                          std::uint8_t, element::BoolByte, std::int16_t, std::uint16_t,
                          std::uint32_t, std::uint64_t>;

template <class T>
struct Tag {
  using Type = T;
};

/// Calls `function` with the Tag of the type in the list that has this DType.
template <class... Ts, class Function>
void visit_type(TypeList<Ts...>, DType dtype, Function&& function) {
  const bool found =
      ((element::dtype_in_memory<Ts>() == dtype ? (function(Tag<Ts>{}), true) : false) || ...);
  check(found, "a kernel was launched that validate() rejects");
}

template <class T>
T* elements_of(const KernelOperand& operand) {
  return static_cast<T*>(operand.data);
}

inline constexpr int kThreads = 256;

/// Blocks of kThreads for `count` threads. Kernels take steps of the whole grid, so a bound on the
/// number of blocks is no bound on the count.
inline unsigned blocks_for(std::size_t count) {
  constexpr std::size_t kMostBlocks = std::size_t{1} << 16;
  return static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
}

#ifdef __CUDACC__
/// The index of this thread in a grid of a single dimension, and the number of threads.
__device__ inline std::size_t place_in_grid() {
  return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t threads_in_grid() { return std::size_t{gridDim.x} * blockDim.x; }
#endif

}  // namespace belfry::cuda::kernels
