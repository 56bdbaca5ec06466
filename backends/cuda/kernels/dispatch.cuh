// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_ops.h"
#include "belfry/backend/type_lists.h"

#include <algorithm>
#include <cstddef>

/// Chooses the shape of launches; belfry/backend/type_lists.h maps the types of a call to
/// templates. Operations are chosen inside kernels: all threads choose the same operation, and the
/// number of kernels is smaller.
namespace belfry::cuda::kernels {

using namespace belfry::kernels;

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
