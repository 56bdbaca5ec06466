// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "event.h"

#include "belfry/detail/flight_ring.h"
#include "check.h"
#include "launched_kernel.h"
#include "peer_work.h"

namespace belfry::cuda {

bool has_happened(cudaEvent_t event) {
  const cudaError_t code = cudaEventQuery(event);
  if (code == cudaErrorNotReady) {
    ignore_failure(code);
    return false;
  }
  check_call(code, "cudaEventQuery(event)", {__FILE__, __LINE__});
  return true;
}

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
  if (event_ == nullptr) return;
  const detail::FlightWait wait(shared_->options.recorder);
  const auto is_done = [this] { return query(); };
  await_peers(*shared_, is_done);
  check_wait(*shared_->kernel_failures, cudaEventSynchronize(event_), "cudaEventSynchronize(event)",
             {__FILE__, __LINE__});
}

bool Event::query() { return event_ == nullptr || has_happened(event_); }

// Issued waits keep the recorded work: the next owner may record the event again.
void Event::give_back() noexcept {
  if (event_ != nullptr) device_->give_event(event_);
  event_ = nullptr;
}

}  // namespace belfry::cuda
