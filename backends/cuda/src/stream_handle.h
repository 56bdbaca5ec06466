// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_state.h"

#include <cuda_runtime.h>

#include <memory>

namespace belfry::cuda {

enum class Priority { kNormal, kHigh };

/// Owns a CUDA stream. Shared by the Stream and by the buffers allocated on it, which are freed in
/// its order and may outlive the Stream.
class StreamHandle {
 public:
  StreamHandle(std::shared_ptr<DeviceState> device, Priority priority);
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  ~StreamHandle();

  cudaStream_t get() const { return stream_; }
  DeviceState& device() const { return *device_; }
  /// Waits until all that was enqueued is done, for destructors: errors have nobody to be told.
  void finish() noexcept;

 private:
  std::shared_ptr<DeviceState> device_;  // with the Device and other streams of it
  cudaStream_t stream_ = nullptr;
};

}  // namespace belfry::cuda
