// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/event.h"
#include "stream_handle.h"

#include <cuda_runtime.h>

#include <memory>

namespace belfry::cuda {

/// Whether the work recorded in `event` is done. Throws: DeviceError where that work failed, of
/// which this call may be the first to hear.
bool has_happened(cudaEvent_t event);

/// A CUDA event without timing, taken when it is first recorded: CUDA ties an event to one GPU,
/// and belfry's may be recorded on any.
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
