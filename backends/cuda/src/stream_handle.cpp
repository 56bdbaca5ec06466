// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "stream_handle.h"

#include "check.h"
#include "current_gpu.h"

#include <utility>

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

StreamHandle::StreamHandle(std::shared_ptr<DeviceState> device, cudaStream_t programs)
    : device_(std::move(device)), stream_(programs), is_programs_(true), is_shown_(true) {}

// CUDA itself would finish enqueued work. But the pool is destroyed next, and a driver (580.159)
// has crashed in its own thread after the end of streams and their pool with unfinished work.
StreamHandle::~StreamHandle() {
  finish();
  device_->shared().ended_in_bodies.let_go();
  if (!is_programs_) ignore_failure(cudaStreamDestroy(stream_));
}

StoredEventPtr StreamHandle::record(StoredEventPtr spare) {
  const std::uint64_t enqueued = enqueued_.load(std::memory_order_acquire);
  if (!is_shown_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    if (latest_ != nullptr && enqueued_at_latest_ == enqueued) return latest_;
  }
  if (spare == nullptr) spare = std::make_shared<const StoredEvent>(device_);
  BELFRY_CUDA_TRY(cudaEventRecord(spare->get(), stream_));
  Counters::add(device_->shared().counters.event_records);
  const std::lock_guard lock(mutex_);
  latest_ = spare;
  enqueued_at_latest_ = enqueued;
  return spare;
}

// The first result may be the error of an earlier call, returned without a wait. If the second
// result is an error too, the GPU is lost and does no more work.
void StreamHandle::finish() noexcept {
  const cudaError_t first = cudaStreamSynchronize(stream_);
  ignore_failure(first);
  if (first != cudaSuccess) ignore_failure(cudaStreamSynchronize(stream_));
}

}  // namespace belfry::cuda
