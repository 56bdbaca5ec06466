// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "event.h"

#include "check.h"

namespace belfry::cuda {

Event::~Event() { give_back(); }

void Event::record(const std::shared_ptr<DeviceState>& device, cudaStream_t stream) {
  if (event_ == nullptr || device_->gpu() != device->gpu()) {
    cudaEvent_t fresh = device->take_event();
    give_back();
    event_ = fresh;
    device_ = device;
  }
  BELFRY_CUDA_TRY(cudaEventRecord(event_, stream));
  Counters::add(shared_->counters.event_records);
}

void Event::synchronize() {
  if (event_ != nullptr) BELFRY_CUDA_TRY(cudaEventSynchronize(event_));
}

bool Event::query() {
  if (event_ == nullptr) return true;
  const cudaError_t code = cudaEventQuery(event_);
  if (code == cudaErrorNotReady) {
    ignore_failure(code);
    return false;
  }
  BELFRY_CUDA_TRY(code);
  return true;
}

// Waits that were issued hold on to what they captured, so the next owner may record anew.
void Event::give_back() noexcept {
  if (event_ != nullptr) device_->give_event(event_);
  event_ = nullptr;
}

}  // namespace belfry::cuda
