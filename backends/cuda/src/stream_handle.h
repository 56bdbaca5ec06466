// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_state.h"
#include "stored_event.h"

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

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
  /// Returns an event at the end of the present work: the event of the latest record if no work has
  /// come since, else `spare`, or a stored event if that is null, recorded now. Throws:
  /// DeviceError.
  StoredEventPtr record(StoredEventPtr spare = nullptr);
  /// Work, a wait or an allocation has been enqueued: the next record is a new point. A call after
  /// the work makes records of other threads beside the work count as earlier.
  void enqueued() noexcept { enqueued_.fetch_add(1, std::memory_order_acq_rel); }
  /// Code of the program has the stream, and may enqueue work at any time.
  void show_to_program() noexcept { is_shown_.store(true, std::memory_order_relaxed); }
  DeviceState& device() const { return *device_; }
  const std::shared_ptr<DeviceState>& shared_device() const { return device_; }
  /// Waits until all enqueued work is done. For destructors: errors are ignored.
  void finish() noexcept;

 private:
  std::shared_ptr<DeviceState> device_;  // with the Device and other streams of it
  cudaStream_t stream_ = nullptr;
  bool is_programs_ = false;
  std::atomic<bool> is_shown_ = false;
  std::atomic<std::uint64_t> enqueued_ = 0;
  std::mutex mutex_;  // for both below
  StoredEventPtr latest_;
  std::uint64_t enqueued_at_latest_ = 0;
};

}  // namespace belfry::cuda
