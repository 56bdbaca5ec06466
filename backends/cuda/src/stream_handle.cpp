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

// Work still enqueued is finished by CUDA, which frees the stream then.
StreamHandle::~StreamHandle() { ignore_failure(cudaStreamDestroy(stream_)); }

}  // namespace belfry::cuda
