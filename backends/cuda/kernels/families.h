// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"

#include <cuda_runtime.h>

/// The GPU implementation of each kind of kernel, for validated calls. Each function enqueues on a
/// stream whose GPU is current, and enqueues nothing if the output is empty.
namespace belfry::cuda::kernels {

void launch_fill(const KernelCall& call, cudaStream_t stream);
void launch_cast(const KernelCall& call, cudaStream_t stream);
void launch_unary(const KernelCall& call, cudaStream_t stream);
void launch_binary(const KernelCall& call, cudaStream_t stream);
void launch_compare(const KernelCall& call, cudaStream_t stream);
void launch_select(const KernelCall& call, cudaStream_t stream);
void launch_row_reduce(const KernelCall& call, cudaStream_t stream);
void launch_column_reduce(const KernelCall& call, cudaStream_t stream);
void launch_gather_rows(const KernelCall& call, cudaStream_t stream);
void launch_scatter_rows(const KernelCall& call, cudaStream_t stream);
void launch_matmul(const KernelCall& call, cudaStream_t stream);
void launch_reduce_replicas(const KernelCall& call, cudaStream_t stream);
void launch_random(const KernelCall& call, cudaStream_t stream);
void launch_fused_update(const KernelCall& call, cudaStream_t stream);
void launch_copy_each(const KernelCall& call, cudaStream_t stream);

}  // namespace belfry::cuda::kernels
