// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Kernels of users for suites. Programs for GPUs are compiled with BELFRY_USER_KERNELS_ON_GPUS, and
// have the bodies of user_kernels.cu.
#pragma once

#include "belfry/dtype.h"

#ifdef BELFRY_USER_KERNELS_ON_GPUS
#include <cuda_runtime.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace belfry::testing::user_kernels {

// Integers wrap, as in the kernels of belfry.
BELFRY_HOST_DEVICE inline std::int32_t wrapped(std::uint32_t value) {
  return static_cast<std::int32_t>(value);
}
BELFRY_HOST_DEVICE inline std::int32_t sum(std::int32_t a, std::int32_t b) {
  return wrapped(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
BELFRY_HOST_DEVICE inline std::int32_t product(std::int32_t a, std::int32_t b) {
  return wrapped(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

/// y += scale * x.
struct AddScaled {
  std::int32_t scale = 1;

  void on_host(std::span<std::int32_t> y, std::span<const std::int32_t> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = sum(y[i], product(scale, x[i]));
  }
#ifdef BELFRY_USER_KERNELS_ON_GPUS
  void on_cuda(cudaStream_t stream, std::span<std::int32_t> y,
               std::span<const std::int32_t> x) const;
#endif
};

/// z = x in reverse order, by way of scratch memory.
struct Reverse {
  void on_host(std::span<std::int32_t> z, std::span<std::byte> memory,
               std::span<const std::int32_t> x) const {
    const std::span copy(reinterpret_cast<std::int32_t*>(memory.data()), x.size());
    std::ranges::copy(x, copy.begin());
    std::ranges::reverse_copy(copy, z.begin());
  }
#ifdef BELFRY_USER_KERNELS_ON_GPUS
  void on_cuda(cudaStream_t stream, std::span<std::int32_t> z, std::span<std::byte> memory,
               std::span<const std::int32_t> x) const;
#endif
};

/// Exchanges y and x, and adds number to the new y.
struct Exchange {
  std::int32_t number = 0;

  void on_host(std::span<std::int32_t> y, std::span<std::int32_t> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::int32_t before = y[i];
      y[i] = sum(x[i], number);
      x[i] = before;
    }
  }
#ifdef BELFRY_USER_KERNELS_ON_GPUS
  void on_cuda(cudaStream_t stream, std::span<std::int32_t> y, std::span<std::int32_t> x) const;
#endif
};

/// z = 3 * y + x.
struct Combine {
  void on_host(std::span<const std::int32_t> y, std::span<const std::int32_t> x,
               std::span<std::int32_t> z) const {
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = sum(product(3, y[i]), x[i]);
  }
#ifdef BELFRY_USER_KERNELS_ON_GPUS
  void on_cuda(cudaStream_t stream, std::span<const std::int32_t> y,
               std::span<const std::int32_t> x, std::span<std::int32_t> z) const;
#endif
};

}  // namespace belfry::testing::user_kernels
