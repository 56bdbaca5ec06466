// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check.h"

#include <cuda_runtime.h>

namespace belfry::cuda {

/// Whether CUDA can let kernels on GPU `from` use memory of GPU `to`, a different one. Throws:
/// DeviceError.
inline bool can_access(int from, int to) {
  int can = 0;
  BELFRY_CUDA_TRY(cudaDeviceCanAccessPeer(&can, from, to));
  return can != 0;
}

}  // namespace belfry::cuda
