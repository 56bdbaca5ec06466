// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "belfry/backend/user_kernel.h"
#include "kernels/families.h"

namespace belfry {

void run_on_host(const KernelCall& call) {
  switch (call.kind) {
    case KernelKind::kFill:
      return kernels::run_fill(call);
    case KernelKind::kCast:
      return kernels::run_cast(call);
    case KernelKind::kUnary:
      return kernels::run_unary(call);
    case KernelKind::kBinary:
      return kernels::run_binary(call);
    case KernelKind::kCompare:
      return kernels::run_compare(call);
    case KernelKind::kSelect:
      return kernels::run_select(call);
    case KernelKind::kRowReduce:
      return kernels::run_row_reduce(call);
    case KernelKind::kColumnReduce:
      return kernels::run_column_reduce(call);
    case KernelKind::kGatherRows:
      return kernels::run_gather_rows(call);
    case KernelKind::kScatterRows:
      return kernels::run_scatter_rows(call);
    case KernelKind::kMatmul:
      return kernels::run_matmul(call);
    case KernelKind::kReduceReplicas:
      return reduce_on_host(call);
    case KernelKind::kRandom:
      return kernels::run_random(call);
    case KernelKind::kFusedUpdate:
      return kernels::run_fused_update(call);
    case KernelKind::kCopyEach:
      return kernels::run_copy_each(call);
    case KernelKind::kUser:
      return run_user_kernel(call);
  }
}

}  // namespace belfry
