// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "check.h"

#include "belfry/error.h"

#include <string>
#include <string_view>

namespace belfry::cuda {
namespace {

ErrorCode code_of(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return ErrorCode::kOutOfMemory;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
      return ErrorCode::kNoDriver;
    default:
      return ErrorCode::kDeviceLost;
  }
}

std::string_view name_of(ncclResult_t code) {
  switch (code) {
    case ncclSuccess:
      return "ncclSuccess";
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
    case ncclInProgress:
      return "ncclInProgress";
    default:  // A later NCCL has more.
      return "an NCCL result unknown to this build";
  }
}

// `cudaMemcpyAsync` of `cudaMemcpyAsync(a, b, c)`.
std::string function_of(std::string_view call) {
  return std::string(call.substr(0, call.find('(')));
}

}  // namespace

void check_call(cudaError_t code, const char* call, CallSite site) {
  if (code == cudaSuccess) return;
  // Clears the error of the thread: a later call would report the error again.
  static_cast<void>(cudaGetLastError());
  throw DeviceError(ErrorReport{
      .code = code_of(code),
      .summary = function_of(call) + " failed: " + cudaGetErrorName(code) + " (" +
                 std::to_string(static_cast<int>(code)) + "), " + cudaGetErrorString(code),
      .site = site,
      .replicas = {},
      .expected = {},
      .hint = std::string("the call was ") + call});
}

void check_call(ncclResult_t code, const char* call, CallSite site) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  std::string summary = function_of(call) + " failed: " + std::string(name_of(code)) + " (" +
                        std::to_string(static_cast<int>(code)) + "), " + ncclGetErrorString(code);
  const char* last = ncclGetLastError(nullptr);
  if (last != nullptr && *last != '\0') summary += std::string("; NCCL says: ") + last;
  throw DeviceError(ErrorReport{.code = ErrorCode::kDeviceLost,
                                .summary = std::move(summary),
                                .site = site,
                                .replicas = {},
                                .expected = {},
                                .hint = std::string("the call was ") + call});
}

}  // namespace belfry::cuda
