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

void Event::synchronize() {
  if (event_ == nullptr) return;
  const detail::FlightWait wait(shared_->options.recorder);
  const auto is_done = [this] { return query(); };
  await_peers(*shared_, is_done);
  check_wait(*shared_->kernel_failures, cudaEventSynchronize(get()), "cudaEventSynchronize(event)",
             {__FILE__, __LINE__});
}

bool Event::query() { return event_ == nullptr || has_happened(get()); }

}  // namespace belfry::cuda
