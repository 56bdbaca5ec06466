// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host/host_device.h"

#include "belfry/backend/current_slot.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/backend/unwatched.h"
#include "belfry/backend/user_kernel.h"
#include "belfry/error.h"
#include "host/host_buffer.h"
#include "kernels/views.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace belfry::host {
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

void throw_loss(const BufferView& view) {
  const std::exception_ptr reason = reason_of_loss(view);
  if (reason != nullptr) std::rethrow_exception(reason);
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

// A failure that has been told makes room: the untold failure is then one object on all streams.
void HostStream::join_failure(const HostFailurePtr& failure) {
  if (this->failure() == nullptr) failure_ = failure;
}

void HostStream::require_value(const BufferView& input) {
  if (!has_loss(input) || failure() != nullptr) return;
  const std::exception_ptr reason = reason_of_loss(input);
  if (reason == nullptr) return;
  failure_ = std::make_shared<HostFailure>();
  failure_->exception = reason;
}

// A skipped kernel leaves the tensors that the kernel was to change in place.
void HostStream::skip(const Kernel& kernel) {
  for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
    const BufferView& output = kernel.outputs[i];
    const auto is_output = [&](const BufferView& input) {
      return kernels::share_memory(input, output);
    };
    const bool in_place =
        updates_output(kernel, i) || std::ranges::any_of(kernel.inputs, is_output);
    if (!in_place) skip(output);
  }
}

void HostStream::skip(const BufferView& output) {
  LostBytes::Room room(1);
  lose(output, failure_->exception, room);
}

void HostStream::launch(Kernel kernel, std::size_t bytes) {
  validate(kernel);
  if (kernel.user != nullptr) require_on_host(*kernel.user, detail::submitting_site());
  for (const BufferView& input : kernel.inputs) require_value(input);
  for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
    const BufferView& output = kernel.outputs[i];
    if (has_loss(output) && updates_output(kernel, i)) require_value(output);
  }
  if (failure() != nullptr) return skip(kernel);
  const KernelCall call = resolve(kernel);
  for (const BufferView& output : kernel.outputs) {
    if (has_loss(output)) restore(output);
  }
  if (kernel.kind == KernelKind::kReduceReplicas) return reduce_on_host(call, bytes);
  if (kernel.user == nullptr) return run_on_host(call);
  run_user(kernel, call);
}

// Nothing may fail after the first written byte.
void HostStream::run_user(const Kernel& kernel, const KernelCall& call) {
  if (spare_ == nullptr) spare_ = std::make_shared<HostFailure>();
  if (spare_->room.size() < kernel.outputs.size()) spare_->room.resize(kernel.outputs.size());
  try {
    run_on_host(call);
  } catch (...) {
    spare_->exception =
        failure_of_kernel(std::current_exception(), *kernel_failures_, kernel.user->traits().name,
                          detail::submitting_site(), detail::current_replica_id());
    failure_ = std::exchange(spare_, nullptr);
    for (const BufferView& output : kernel.outputs) {
      lose(output, failure_->exception, failure_->room);
    }
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
  require_value(from);
  if (failure() != nullptr) return target == source ? void() : skip(to);
  if (has_loss(to)) restore(to);
  std::memmove(target, source, to.bytes());
}

void HostStream::write(BufferView to, const void* from) {
  std::byte* target = address_of(to);
  if (failure() != nullptr) return skip(to);
  if (to.count == 0) return;
  if (has_loss(to)) restore(to);
  std::memcpy(target, from, to.bytes());
}

void HostStream::read(void* to, BufferView from) {
  const std::byte* source = address_of(from);
  synchronize();
  throw_loss(from);
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
  return std::make_shared<HostBuffer>(*this, std::move(memory));
}

const std::byte* HostDevice::read_in_place(const BufferView& view) {
  const std::byte* const address = address_of(view);
  compute_.synchronize();
  throw_loss(view);
  return view.count == 0 ? nullptr : address;
}

void* HostDevice::lend(const BufferView& view, std::optional<std::int64_t>) {
  std::byte* const address = address_of(view);
  compute_.synchronize();
  throw_loss(view);
  return address;
}

}  // namespace belfry::host
