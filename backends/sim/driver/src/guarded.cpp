// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "guarded.h"

#include "belfry/backend/current_slot.h"
#include "belfry/error.h"

namespace belfry::driver {
namespace {

cudaError_t code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOutOfMemory:
      return cudaErrorMemoryAllocation;
    case ErrorCode::kOutOfBounds:
    case ErrorCode::kUninitialised:
      return cudaErrorIllegalAddress;
    default:
      return cudaErrorLaunchFailure;
  }
}

}  // namespace

Caller caller_of(const Call& call) {
  return {call.function, call.thread.number, detail::submitting_site()};
}

cudaError_t misuse(const Call& call, cudaError_t code, const std::string& what) {
  call.thread.last_text = std::string(call.function) + ": " + what;
  call.thread.text_of = code;
  call.machine.book().report(call.thread.last_text);
  return code;
}

ncclResult_t misuse(const Call& call, ncclResult_t code, const std::string& what) {
  call.thread.nccl_text = std::string(call.function) + ": " + what;
  call.machine.book().report(call.thread.nccl_text);
  return code;
}

cudaError_t no_stream(const Call& call) {
  return misuse(call, cudaErrorInvalidResourceHandle, "no stream has this handle");
}

cudaError_t failure(const Call& call, std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const Error& error) {
    return misuse(call, code_of(error.code()), error.report().summary);
  } catch (const std::exception& error) {
    return misuse(call, cudaErrorLaunchFailure, error.what());
  }
}

}  // namespace belfry::driver
