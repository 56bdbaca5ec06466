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

/// The stored event of the latest record: CUDA ties an event to a GPU, and an event of belfry may
/// be recorded on any GPU.
class Event final : public belfry::Event {
 public:
  explicit Event(std::shared_ptr<SharedState> shared) : shared_(std::move(shared)) {}

  void synchronize() override;
  bool query() override;

  const SharedState& shared() const { return *shared_; }
  void record(StreamHandle& stream) { event_ = stream.record(); }
  /// Null before the first record.
  cudaEvent_t get() const { return event_ == nullptr ? nullptr : event_->get(); }

 private:
  std::shared_ptr<SharedState> shared_;  // with the Backend
  StoredEventPtr event_;                 // of the latest record; with other events of one point
};

}  // namespace belfry::cuda
