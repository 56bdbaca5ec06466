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
  ignore_failure(cudaStreamSynchronize(stream_));
  ignore_failure(cudaStreamDestroy(stream_));
}

}  // namespace belfry::cuda
