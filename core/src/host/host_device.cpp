// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host/host_device.h"

#include "belfry/backend/current_slot.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/backend/unwatched.h"
#include "belfry/backend/user_kernel.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace belfry::host {
namespace {

class HostBuffer final : public Buffer {
 public:
  HostBuffer(Device& device, std::size_t bytes, std::shared_ptr<HostMeter> meter)
      : Buffer(device, ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{64}),
               bytes),
        meter_(std::move(meter)) {
    const detail::Unwatched unwatched;
    meter_->use.live_bytes += bytes;
    meter_->use.live_buffers += 1;
    meter_->use.peak_bytes = std::max(meter_->use.peak_bytes, meter_->use.live_bytes);
  }
  ~HostBuffer() override {
    const detail::Unwatched unwatched;
    meter_->use.live_bytes -= bytes();
    meter_->use.live_buffers -= 1;
    ::operator delete(address(), std::align_val_t{64});
  }

 private:
  std::shared_ptr<HostMeter> meter_;
};

// All work is done when a handle ends: the end of the buffer releases the owner.
class HostForeignBuffer final : public Buffer {
 public:
  HostForeignBuffer(Device& device, ForeignMemory memory)
      : Buffer(device, memory.address, memory.bytes, memory.origin()),
        owner_(std::move(memory.owner)) {}

 private:
  std::shared_ptr<const void> owner_;  // Shared with the program.
};

}  // namespace

std::byte* address_of(const BufferView& view) {
  if (view.buffer == nullptr || view.offset > view.buffer->bytes() ||
      view.bytes() > view.buffer->bytes() - view.offset) {
    throw InvalidArgumentError(ErrorCode::kOutOfBounds, "a view reaches beyond its buffer");
  }
  return static_cast<std::byte*>(view.buffer->address()) + view.offset;
}

HostFailurePtr untold(const HostFailurePtr& failure) {
  if (failure == nullptr || !failure->told) return failure;
  return failure->told_to_replica && detail::current_replica_id() >= 0 ? failure : nullptr;
}

namespace {

void tell(HostFailurePtr failure) {
  failure->told_to_replica =
      detail::current_replica_id() >= 0 && (!failure->told || failure->told_to_replica);
  failure->told = true;
  std::rethrow_exception(failure->exception);
}

}  // namespace

void HostEvent::synchronize() {
  if (untold(failure) != nullptr) tell(std::move(failure));
}

HostStream* host_stream(Stream* stream) { return dynamic_cast<HostStream*>(stream); }

HostFailurePtr HostStream::failure() {
  detail::require_no_kernel();
  if (failure_ != nullptr) failure_ = untold(failure_);
  return failure_;
}

void HostStream::join_failure(const HostFailurePtr& failure) {
  if (failure_ == nullptr) failure_ = failure;
}

void HostStream::launch(Kernel kernel) {
  validate(kernel);
  if (kernel.user != nullptr) require_on_host(*kernel.user, detail::submitting_site());
  if (failure() != nullptr) return;
  if (kernel.user == nullptr) return run_on_host(resolve(kernel));
  const KernelCall call = resolve(kernel);
  // Nothing may fail after the first written byte.
  if (spare_ == nullptr) spare_ = std::make_shared<HostFailure>();
  try {
    run_on_host(call);
  } catch (...) {
    spare_->exception =
        failure_of_kernel(std::current_exception(), *kernel_failures_, kernel.user->traits().name,
                          detail::submitting_site(), detail::current_replica_id());
    failure_ = std::exchange(spare_, nullptr);
  }
}

void HostStream::record(Event& event) {
  auto* const own = dynamic_cast<HostEvent*>(&event);
  if (own != nullptr) own->failure = failure();
}

void HostStream::wait(Event& event) {
  const auto* const own = dynamic_cast<HostEvent*>(&event);
  if (own != nullptr && untold(own->failure) != nullptr) join_failure(own->failure);
}

void HostStream::synchronize() {
  if (failure() != nullptr) tell(std::exchange(failure_, nullptr));
}

void HostStream::copy(BufferView to, BufferView from) {
  std::byte* target = address_of(to);
  const std::byte* source = address_of(from);
  if (to.bytes() != from.bytes()) {
    throw InvalidArgumentError(ErrorCode::kShape, "a copy between views of different sizes");
  }
  if (failure() != nullptr) return;
  std::memmove(target, source, to.bytes());
}

void HostStream::write(BufferView to, const void* from) {
  std::byte* target = address_of(to);
  if (failure() == nullptr && to.count != 0) std::memcpy(target, from, to.bytes());
}

void HostStream::read(void* to, BufferView from) {
  const std::byte* source = address_of(from);
  synchronize();
  if (from.count != 0) std::memcpy(to, source, from.bytes());
}

DeviceSpec HostDevice::spec() const {
  DeviceSpec spec;
  spec.index = index_;
  return spec;
}

BufferPtr HostDevice::allocate(std::size_t bytes, Stream&) {
  const detail::Unwatched unwatched;
  try {
    // Too many bytes for any address space. Checked here, because allocators that look for faults
    // would end the program.
    if (bytes > (SIZE_MAX >> 2)) throw std::bad_alloc();
    return std::make_shared<HostBuffer>(*this, bytes, meter_);
  } catch (const std::bad_alloc&) {
    throw DeviceError(ErrorCode::kOutOfMemory,
                      "the host has no room for " + std::to_string(bytes) + " bytes",
                      "free tensors, or make smaller ones", detail::submitting_site());
  }
}

BufferPtr HostDevice::adopt(ForeignMemory memory, Stream&) {
  return std::make_shared<HostForeignBuffer>(*this, std::move(memory));
}

void* HostDevice::lend(const BufferView& view, std::optional<std::int64_t>) {
  std::byte* const address = address_of(view);
  compute_.synchronize();
  return address;
}

}  // namespace belfry::host
