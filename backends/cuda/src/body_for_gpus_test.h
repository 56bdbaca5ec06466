// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel_failures.h"
#include "belfry/backend/user_kernel.h"
#include "belfry/cuda/backend.h"
#include "belfry/detail/kernel_body.h"
#include "current_gpu.h"
#include "launched_kernel.h"
#include "stream.h"

#include <memory>

namespace belfry::cuda::test {

inline Stream& compute_stream(Backend& backend, int device) {
  return static_cast<Stream&>(backend.device(device).compute_stream());
}

/// Calls `on_cuda` of a kernel without operands for a stream, with the GPU of the stream current.
/// The simulated driver has the functions of CUDA that a body may call, and launches `on_host`.
/// Calls of the driver in bodies are refused, hence the call without a KernelScope.
template <class K>
void call_on_cuda(Stream& stream, const K& kernel) {
  const auto launched =
      launched_kernel(std::make_shared<const belfry::detail::KernelBody<K>>(kernel),
                      std::make_shared<KernelFailures>(), stream.objects());
  const CurrentGpu current(stream.state().gpu());
  launched->on_cuda(NativeStream(stream.get()), KernelCall{});
}

}  // namespace belfry::cuda::test
