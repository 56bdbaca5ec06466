// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/user_kernel.h"
#include "belfry/call_site.h"

#include <cuda_runtime.h>

#include <memory>

namespace belfry::cuda {

/// `body` for a launch at the present place, which keeps exceptions in `failures`. On the simulated
/// driver an exception of `on_host` becomes a DeviceError with the number of the exception: CUDA
/// hands on a code and a text alone.
std::shared_ptr<const UserKernel> keeping_failures(std::shared_ptr<const UserKernel> body,
                                                   std::shared_ptr<KernelFailures> failures);

/// check_call for the code of a host wait. Throws: for the failure of a body, the exception of the
/// body.
void check_wait(const KernelFailures& failures, cudaError_t code, const char* call, CallSite site);

}  // namespace belfry::cuda
