// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cuda_runtime.h>
#include <nccl.h>

namespace belfry::cuda {

/// Throws DeviceError unless `code` is success, with the vendor's name and text of the code, the
/// text of the call, and its site. Distinguishes kOutOfMemory, kNoDriver and kDeviceLost.
void check_call(cudaError_t code, const char* call, CallSite site);

/// As above, but accepts `ncclInProgress`: a caller that needs the end of the call polls.
void check_call(ncclResult_t code, const char* call, CallSite site);

/// For destructors, which cannot report failures. The next call reports the failure again.
inline void ignore_failure(cudaError_t code) noexcept {
  if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
}
inline void ignore_failure(ncclResult_t /*code*/) noexcept {}

}  // namespace belfry::cuda

#define BELFRY_CUDA_TRY(call) ::belfry::cuda::check_call((call), #call, {__FILE__, __LINE__})
#define BELFRY_NCCL_TRY(call) ::belfry::cuda::check_call((call), #call, {__FILE__, __LINE__})
