// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/user_kernel.h"
#include "check.h"
#include "families.h"
#include "kernel_launch.h"

namespace belfry::cuda {
namespace {

void enqueue(const KernelCall& call, cudaStream_t stream) {
  switch (call.kind) {
    case KernelKind::kFill:
      return kernels::launch_fill(call, stream);
    case KernelKind::kCast:
      return kernels::launch_cast(call, stream);
    case KernelKind::kUnary:
      return kernels::launch_unary(call, stream);
    case KernelKind::kBinary:
      return kernels::launch_binary(call, stream);
    case KernelKind::kCompare:
      return kernels::launch_compare(call, stream);
    case KernelKind::kSelect:
      return kernels::launch_select(call, stream);
    case KernelKind::kRowReduce:
      return kernels::launch_row_reduce(call, stream);
    case KernelKind::kColumnReduce:
      return kernels::launch_column_reduce(call, stream);
    case KernelKind::kGatherRows:
      return kernels::launch_gather_rows(call, stream);
    case KernelKind::kScatterRows:
      return kernels::launch_scatter_rows(call, stream);
    case KernelKind::kMatmul:
      return kernels::launch_matmul(call, stream);
    case KernelKind::kReduceReplicas:
      return kernels::launch_reduce_replicas(call, stream);
    case KernelKind::kRandom:
      return kernels::launch_random(call, stream);
    case KernelKind::kFusedUpdate:
      return kernels::launch_fused_update(call, stream);
    case KernelKind::kCopyEach:
      return kernels::launch_copy_each(call, stream);
    case KernelKind::kUser:
      return enqueue_user_kernel(call, NativeStream(stream));
  }
}

}  // namespace

void launch(const KernelCall& call, cudaStream_t stream) {
  // Clears an error that the user's code left behind.
  static_cast<void>(cudaGetLastError());
  enqueue(call, stream);
  BELFRY_CUDA_TRY(cudaGetLastError());
}

}  // namespace belfry::cuda
