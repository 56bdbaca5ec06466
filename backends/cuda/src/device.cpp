// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "device.h"

#include "belfry/error.h"
#include "buffer.h"
#include "check.h"
#include "event.h"
#include "memory_exchange.h"
#include "ownership.h"
#include "stream.h"

#include <utility>

namespace belfry::cuda {

DeviceSpec name_of_device(int index, Memory memory) {
  DeviceSpec spec;
  if (memory == Memory::kHost) return spec;
  spec.type = "GPU";
  spec.index = index;
  return spec;
}

namespace {

std::shared_ptr<StreamHandle> compute_stream_of(const std::shared_ptr<DeviceState>& state) {
  const std::vector<cudaStream_t>& own = state->shared().options.compute_streams;
  if (own.empty() || state->is_host()) {
    return std::make_shared<StreamHandle>(state, Priority::kNormal);
  }
  return std::make_shared<StreamHandle>(state, own[static_cast<std::size_t>(state->index())]);
}

}  // namespace

Device::Device(std::shared_ptr<SharedState> shared, Position position, std::span<const int> peers)
    : shared_(std::move(shared)),
      state_(std::make_shared<DeviceState>(shared_, position, peers)),
      compute_(std::make_unique<Stream>(*this, compute_stream_of(state_), 0)),
      communication_(std::make_unique<Stream>(
          *this, std::make_shared<StreamHandle>(state_, Priority::kHigh), 1)) {}

Device::~Device() = default;

DeviceSpec Device::spec() const {
  return name_of_device(index(), is_host() ? Memory::kHost : Memory::kGpu);
}

BufferPtr Device::allocate(std::size_t bytes, belfry::Stream& stream) {
  const Stream& mine = own(*shared_, stream);
  if (&mine.state() != state_.get()) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "memory of one device is allocated on a stream of another",
                               "pass a stream of the device that the memory shall be on");
  }
  const auto make = [&] {
    return std::make_shared<Buffer>(*this, std::make_shared<HomeMemory>(mine.handle(), bytes));
  };
  // Streams keep the memory of finished work until later work is enqueued: release the memory now.
  // If that is not enough, wait for the work that is not finished.
  for (const bool waits : {false, true}) {
    try {
      return make();
    } catch (const DeviceError& error) {
      if (error.code() != ErrorCode::kOutOfMemory) throw;
    }
    Stream::let_go_of_work(*shared_, waits);
  }
  return make();
}

BufferPtr Device::adopt(ForeignMemory memory, belfry::Stream& stream) {
  const Stream& mine = own(*shared_, stream);
  const bool everywhere = require_usable(*state_, memory);
  if (memory.producer_stream) {
    order_after(*state_, mine.get(), stream_of_number(*memory.producer_stream));
    mine.handle()->enqueued();
  }
  return std::make_shared<Buffer>(*this, mine.handle(), std::move(memory), everywhere);
}

MemoryPlace Device::memory_place() const {
  if (is_host()) return {.kind = MemoryKind::kPinned};
  return {.kind = MemoryKind::kGpu, .gpu = gpu()};
}

void* Device::lend(const BufferView& view, std::optional<std::int64_t> consumer_stream) {
  void* const address = address_of(*shared_, view);
  if (is_host()) {
    compute_->synchronize();
  } else if (consumer_stream) {
    order_after(*state_, stream_of_number(*consumer_stream), compute_->get());
  }
  return address;
}

belfry::Stream& Device::compute_stream() { return *compute_; }

belfry::Stream& Device::communication_stream() { return *communication_; }

std::unique_ptr<belfry::Stream> Device::create_stream() {
  return std::make_unique<Stream>(*this, std::make_shared<StreamHandle>(state_, Priority::kNormal),
                                  made_++);
}

std::unique_ptr<belfry::Event> Device::create_event() { return std::make_unique<Event>(shared_); }

void Device::check_health() {
  for (const Stream* stream : {compute_.get(), communication_.get()}) {
    const cudaError_t code = cudaStreamQuery(stream->get());
    if (code == cudaErrorNotReady) {
      ignore_failure(code);
    } else {
      check_call(code, "cudaStreamQuery(stream)", {__FILE__, __LINE__});
    }
  }
}

}  // namespace belfry::cuda
