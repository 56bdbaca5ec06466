// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "stream.h"

#include "belfry/error.h"
#include "check.h"
#include "current_gpu.h"
#include "event.h"
#include "kernel_launch.h"
#include "ownership.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belfry::cuda {
namespace {

// A host that never waits would otherwise collect buffers without end.
constexpr std::size_t kMaxInFlight = 256;

void require_equal_bytes(const BufferView& to, const BufferView& from) {
  if (to.bytes() == from.bytes()) return;
  throw InvalidArgumentError(ErrorCode::kShape, "a copy of " + std::to_string(from.bytes()) +
                                                    " bytes to " + std::to_string(to.bytes()));
}

}  // namespace

Stream::Stream(Device& device, std::shared_ptr<DeviceState> state, Priority priority)
    : device_(device),
      state_(std::move(state)),
      handle_(std::make_shared<StreamHandle>(state_, priority)) {}

Stream::~Stream() {
  if (in_flight_.empty()) return;
  ignore_failure(cudaStreamSynchronize(get()));
  for (InFlight& work : in_flight_) state_->give_event(work.done);
}

void Stream::launch(Kernel kernel) {
  validate(kernel);
  std::vector<BufferPtr> buffers;
  for (const auto* views : {&kernel.outputs, &kernel.inputs}) {
    for (const BufferView& view : *views) {
      require_reachable(own(state_->shared(), view), state_->gpu());
      if (!at_home(view.buffer)) buffers.push_back(view.buffer);
    }
  }
  {
    const CurrentGpu current(state_->gpu());
    cuda::launch(resolve(kernel), get());
  }
  Counters::add(state_->shared().counters.kernel_launches);
  hold(std::move(buffers));
}

void Stream::copy(BufferView to, BufferView from) {
  const int to_gpu = own(state_->shared(), to).state().gpu();
  const int from_gpu = own(state_->shared(), from).state().gpu();
  require_equal_bytes(to, from);
  void* destination = address_of(state_->shared(), to);
  const void* source = address_of(state_->shared(), from);
  if (to.bytes() > 0 && destination != source) {
    const CurrentGpu current(state_->gpu());
    if (to_gpu == from_gpu) {
      BELFRY_CUDA_TRY(
          cudaMemcpyAsync(destination, source, to.bytes(), cudaMemcpyDeviceToDevice, get()));
    } else {
      BELFRY_CUDA_TRY(
          cudaMemcpyPeerAsync(destination, to_gpu, source, from_gpu, to.bytes(), get()));
    }
  }
  Counters::add(state_->shared().counters.copies);
  hold({std::move(to.buffer), std::move(from.buffer)});
}

void Stream::write(BufferView to, const void* from) {
  void* destination = address_of(state_->shared(), to);
  if (to.bytes() > 0) {
    const CurrentGpu current(state_->gpu());
    BELFRY_CUDA_TRY(cudaMemcpyAsync(destination, from, to.bytes(), cudaMemcpyHostToDevice, get()));
    // CUDA takes pageable memory in before it returns; pinned memory of the user's it reads later.
    cudaPointerAttributes attributes{};
    const cudaError_t known = cudaPointerGetAttributes(&attributes, from);
    ignore_failure(known);
    if (known == cudaSuccess && attributes.type != cudaMemoryTypeUnregistered) {
      BELFRY_CUDA_TRY(cudaStreamSynchronize(get()));
    }
  }
  Counters::add(state_->shared().counters.host_writes);
  hold({std::move(to.buffer)});
}

void Stream::read(void* to, BufferView from) {
  const void* source = address_of(state_->shared(), from);
  if (from.bytes() > 0) {
    const CurrentGpu current(state_->gpu());
    BELFRY_CUDA_TRY(cudaMemcpyAsync(to, source, from.bytes(), cudaMemcpyDeviceToHost, get()));
  }
  Counters::add(state_->shared().counters.host_reads);
  synchronize();
}

void Stream::record(belfry::Event& event) {
  Event& mine = own(state_->shared(), event);
  const CurrentGpu current(state_->gpu());
  mine.record(state_, get());
}

void Stream::wait(belfry::Event& event) {
  const Event& mine = own(state_->shared(), event);
  if (mine.get() == nullptr) return;
  const CurrentGpu current(state_->gpu());
  BELFRY_CUDA_TRY(cudaStreamWaitEvent(get(), mine.get(), 0));
  Counters::add(state_->shared().counters.event_waits);
}

void Stream::synchronize() {
  BELFRY_CUDA_TRY(cudaStreamSynchronize(get()));
  let_go_of_finished();
}

void Stream::hold(std::vector<BufferPtr> buffers) {
  std::erase_if(buffers, [this](const BufferPtr& buffer) { return at_home(buffer); });
  if (!buffers.empty()) {
    const CurrentGpu current(state_->gpu());
    cudaEvent_t done = state_->take_event();
    try {
      BELFRY_CUDA_TRY(cudaEventRecord(done, get()));
    } catch (...) {
      // Nothing will tell when the work is done with the buffers.
      ignore_failure(cudaStreamSynchronize(get()));
      state_->give_event(done);
      throw;
    }
    const std::lock_guard lock(mutex_);
    in_flight_.push_back({done, std::move(buffers)});
  }
  let_go_of_finished();
}

bool Stream::at_home(const BufferPtr& buffer) const {
  return &static_cast<const Buffer&>(*buffer).home() == handle_.get();
}

void Stream::let_go_of_finished() {
  // Buffers end outside the lock: freeing calls CUDA.
  const std::vector<BufferPtr> finished = take_finished();
}

std::vector<BufferPtr> Stream::take_finished() {
  std::vector<BufferPtr> finished;
  const std::lock_guard lock(mutex_);
  while (!in_flight_.empty()) {
    InFlight& oldest = in_flight_.front();
    if (in_flight_.size() > kMaxInFlight) BELFRY_CUDA_TRY(cudaEventSynchronize(oldest.done));
    if (!has_happened(oldest.done)) break;
    state_->give_event(oldest.done);
    for (BufferPtr& buffer : oldest.buffers) finished.push_back(std::move(buffer));
    in_flight_.pop_front();
  }
  return finished;
}

}  // namespace belfry::cuda
