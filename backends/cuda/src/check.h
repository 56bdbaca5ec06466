// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cuda_runtime.h>
#include <nccl.h>

namespace belfry::cuda {

/// Throws DeviceError unless `code` is success: with the vendor's name and text of the code, the
/// call as it is written, and where. kOutOfMemory, kNoDriver and kDeviceLost are told apart.
void check_call(cudaError_t code, const char* call, CallSite site);

/// As above; `ncclInProgress` is no error: whoever needs the end of it polls.
void check_call(ncclResult_t code, const char* call, CallSite site);

/// For destructors: what fails there has nobody to be told, and shows again at the next call.
inline void ignore_failure(cudaError_t code) noexcept {
  if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
}
inline void ignore_failure(ncclResult_t /*code*/) noexcept {}

}  // namespace belfry::cuda

#define BELFRY_CUDA_TRY(call) ::belfry::cuda::check_call((call), #call, {__FILE__, __LINE__})
#define BELFRY_NCCL_TRY(call) ::belfry::cuda::check_call((call), #call, {__FILE__, __LINE__})
