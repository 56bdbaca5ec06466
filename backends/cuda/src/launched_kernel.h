// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/user_kernel.h"
#include "belfry/call_site.h"
#include "stream_objects.h"

#include <cuda_runtime.h>

#include <memory>

namespace belfry::cuda {

/// `body` for a launch at the present place, on the stream of `objects`: the body for GPUs may use
/// per_stream, and errors of its calls to CUDA are exceptions of the launch. Exceptions are kept in
/// `failures`. On the simulated driver an exception of `on_host` becomes a DeviceError with the
/// number of the exception: CUDA hands on a code and a text alone. `objects` lives until `on_cuda`
/// returns.
std::shared_ptr<const UserKernel> launched_kernel(std::shared_ptr<const UserKernel> body,
                                                  std::shared_ptr<KernelFailures> failures,
                                                  StreamObjects& objects);

/// check_call for the code of a host wait. Throws: for the failure of a body, the exception of the
/// body.
void check_wait(const KernelFailures& failures, cudaError_t code, const char* call, CallSite site);

}  // namespace belfry::cuda
