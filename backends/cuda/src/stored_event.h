// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_state.h"

#include <cuda_runtime.h>

#include <memory>
#include <utility>

namespace belfry::cuda {

/// An event without timing from the store of a device. The destructor gives the event back; issued
/// waits keep the recorded work.
class StoredEvent {
 public:
  /// Throws: DeviceError.
  explicit StoredEvent(std::shared_ptr<DeviceState> device)
      : device_(std::move(device)), event_(device_->take_event()) {}
  StoredEvent(const StoredEvent&) = delete;
  StoredEvent& operator=(const StoredEvent&) = delete;
  ~StoredEvent() { device_->give_event(event_); }

  cudaEvent_t get() const { return event_; }

 private:
  std::shared_ptr<DeviceState> device_;  // with its streams
  cudaEvent_t event_;
};

// Shared by all who wait for one point of a stream.
using StoredEventPtr = std::shared_ptr<const StoredEvent>;

}  // namespace belfry::cuda
