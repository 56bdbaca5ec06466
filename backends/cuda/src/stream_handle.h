// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_state.h"

#include <cuda_runtime.h>

#include <memory>

namespace belfry::cuda {

enum class Priority { kNormal, kHigh };

/// A CUDA stream of the backend's own, or of the program's. Shared by the Stream and its buffers,
/// which are freed in stream order and may outlive the Stream.
class StreamHandle {
 public:
  StreamHandle(std::shared_ptr<DeviceState> device, Priority priority);
  /// A stream of the program's.
  StreamHandle(std::shared_ptr<DeviceState> device, cudaStream_t programs);
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  ~StreamHandle();

  cudaStream_t get() const { return stream_; }
  DeviceState& device() const { return *device_; }
  const std::shared_ptr<DeviceState>& shared_device() const { return device_; }
  /// Waits until all enqueued work is done. For destructors: errors are ignored.
  void finish() noexcept;

 private:
  std::shared_ptr<DeviceState> device_;  // with the Device and other streams of it
  cudaStream_t stream_ = nullptr;
  bool is_programs_ = false;
};

}  // namespace belfry::cuda
