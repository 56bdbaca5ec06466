// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"

#include <cuda_runtime.h>

namespace belfry::cuda {

/// Enqueues a validated kernel on `stream`, whose GPU is current. The only function of the backend
/// with two implementations: GPU kernels in `kernels/`, and the host's kernels for the simulated
/// driver. Throws: DeviceError for errors of the launch.
void launch(const KernelCall& call, cudaStream_t stream);

}  // namespace belfry::cuda
