// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "stream_handle.h"

#include <cuda_runtime.h>

#include <memory>

namespace belfry::cuda {

/// Whether the work recorded in `event` is done. Throws: DeviceError if the work failed; the call
/// may be the first to report the failure.
bool has_happened(cudaEvent_t event);

/// A CUDA event without timing, taken at the first record: CUDA ties an event to a GPU, and an
/// event of belfry may be recorded on any GPU.
class Event final : public belfry::Event {
 public:
  explicit Event(std::shared_ptr<SharedState> shared) : shared_(std::move(shared)) {}
  ~Event() override;

  void synchronize() override;
  bool query() override;

  const SharedState& shared() const { return *shared_; }
  void record(const std::shared_ptr<DeviceState>& device, cudaStream_t stream);
  /// Null before the first record.
  cudaEvent_t get() const { return event_; }

 private:
  void give_back() noexcept;

  std::shared_ptr<SharedState> shared_;  // with the Backend
  std::shared_ptr<DeviceState> device_;  // of the latest record; with the Device
  cudaEvent_t event_ = nullptr;
};

}  // namespace belfry::cuda
