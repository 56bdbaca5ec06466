// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "stream_handle.h"

#include "check.h"
#include "current_gpu.h"

namespace belfry::cuda {

StreamHandle::StreamHandle(std::shared_ptr<DeviceState> device, Priority priority)
    : device_(std::move(device)) {
  const CurrentGpu current(device_->gpu());
  int least = 0;
  int greatest = 0;
  BELFRY_CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  BELFRY_CUDA_TRY(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                               priority == Priority::kHigh ? greatest : least));
}

// CUDA would finish work still enqueued by itself. But the pool is destroyed next, and a driver
// (580.159) was seen to crash, in a thread of its own, where streams and their pool ended with work
// outstanding.
StreamHandle::~StreamHandle() {
  finish();
  ignore_failure(cudaStreamDestroy(stream_));
}

// The first answer may be an earlier call's error, and no wait. Where the second is an error too,
// the GPU is lost and does no more work.
void StreamHandle::finish() noexcept {
  const cudaError_t first = cudaStreamSynchronize(stream_);
  ignore_failure(first);
  if (first != cudaSuccess) ignore_failure(cudaStreamSynchronize(stream_));
}

}  // namespace belfry::cuda
