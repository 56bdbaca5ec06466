// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/access_order.h"
#include "belfry/backend/backend.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/backend/witness.h"
#include "belfry/detail/current_context.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/error.h"
#include "belfry/tensor.h"
#include "values/copy_on_write.h"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

namespace belfry {
namespace {

constexpr std::size_t kMostBytes = std::numeric_limits<std::ptrdiff_t>::max();

// Only a watch of host memory asks for the site of each access.
void touched_by_call(const AnyTensor& tensor, bool writes) {
  if (detail::host_accesses == nullptr) return;
  detail::touched(&tensor, sizeof tensor, writes, detail::submitting_site());
}

void require_storage(const AnyTensor& tensor, CallSite site) {
  detail::touched(&tensor, sizeof tensor, false, site);
  if (tensor.empty()) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a default-constructed tensor was used",
                               "make it with Tensor::from, full or zeros", site);
  }
}

// The target reads after the source's work. An in-place update of the source must not overtake the
// copy.
void ordered_copy(Device& to, const BufferView& target, Device& from, const BufferView& source) {
  const auto computed = from.create_event();
  const auto copied = std::make_shared<detail::StreamPoint>(to);
  from.compute_stream().record(*computed);
  to.compute_stream().wait(*computed);
  detail::copy_in_order(to.compute_stream(), target, source);
  copied->set(to.compute_stream());
  detail::leave_read(source, copied);
}

}  // namespace

Placement current_placement(CallSite site) {
  detail::require_no_kernel(site);
  const detail::CurrentContext* context = detail::current_context();
  if (context == nullptr || context->backend == nullptr) {
    throw ContextError(
        ErrorCode::kWrongContext, "no device is current here",
        "make tensors inside a replica function, a merge, Strategy::scope or a variable's "
        "initialiser, or pass a placement",
        site);
  }
  return {context->backend, context->device};
}

// All work of tensors on a device passes this function.
Device& device_of(const Placement& placement) {
  detail::require_alive();
  if (placement.backend == nullptr) {
    throw InvalidArgumentError(ErrorCode::kUnknownDevice, "a placement without a backend",
                               "take one from Strategy::placement or ReplicaContext::placement",
                               detail::submitting_site());
  }
  return placement.backend->device(placement.device);
}

// The caller of a run writes while all replicas are paused: owners alone decide, and are the same
// in every schedule.
bool detail::counts_as_shared(const AnyTensor& tensor) {
  if (tensor.is_shared()) return true;
  if (current_replica_id() < 0) return false;
  CopyWitness* const witness = copy_witness_of(device_of(tensor.placement()));
  return witness != nullptr && witness->is_used_by_others(tensor.view());
}

void detail::note_copy_for_write(const AnyTensor& tensor) {
  CopyWitness* const witness = copy_witness_of(device_of(tensor.placement()));
  if (witness != nullptr && tensor.view().count != 0) witness->copies_for_write(tensor.view());
}

AnyTensor::AnyTensor(BufferView view, Shape shape, Placement placement)
    : view_(std::move(view)), shape_(std::move(shape)), placement_(placement) {
  check(view_.count == static_cast<std::size_t>(shape_.count()), "elements of a tensor's view");
}

AnyTensor AnyTensor::allocate(DType dtype, Shape shape, Placement placement) {
  Device& device = device_of(placement);
  const auto count = static_cast<std::size_t>(shape.count());
  // The number of elements of a shape fits 63 bits; the number of bytes may not.
  if (count > kMostBytes / size_of(dtype)) {
    throw DeviceError(
        ErrorCode::kOutOfMemory,
        "no device has room for a tensor " + to_string(shape) + " of " + to_string(dtype),
        "make it smaller", detail::submitting_site());
  }
  BufferPtr buffer = device.allocate(count * size_of(dtype), device.compute_stream());
  return {BufferView{std::move(buffer), 0, count, dtype}, std::move(shape), placement};
}

AnyTensor AnyTensor::from_host(DType dtype, Shape shape, const void* data, Placement placement,
                               CallSite site) {
  const detail::SiteScope scope(site);
  AnyTensor tensor = allocate(dtype, std::move(shape), placement);
  if (tensor.view_.count != 0) {
    detail::touched(data, tensor.bytes(), false, detail::submitting_site());
    device_of(placement).compute_stream().write(tensor.view_, data);
  }
  return tensor;
}

void AnyTensor::read(void* to, CallSite site) const {
  require_storage(*this, site);
  if (view_.count == 0) return;
  const detail::SiteScope scope(site);
  detail::touched(to, bytes(), true, detail::submitting_site());
  Stream& stream = device_of(placement_).compute_stream();
  detail::order_read(stream, view_);
  stream.read(to, view_);
}

AnyTensor AnyTensor::copy_to(Placement target, CallSite site) const {
  require_storage(*this, site);
  if (target == placement_) return *this;
  if (target.backend != placement_.backend) {
    throw InvalidArgumentError(ErrorCode::kForeignObject, "a tensor cannot move to another backend",
                               "read it with to_host and make a new one there", site);
  }
  const detail::SiteScope scope(site);
  AnyTensor copy = allocate(dtype(), shape_, target);
  if (view_.count != 0) ordered_copy(device_of(target), copy.view_, device_of(placement_), view_);
  return copy;
}

AnyTensor AnyTensor::reshaped(Shape shape, CallSite site) const {
  detail::touched(this, sizeof *this, false, site);
  if (shape.count() != shape_.count()) {
    throw InvalidArgumentError(ErrorCode::kShape,
                               "cannot view " + to_string(shape_) + " as " + to_string(shape),
                               "the element counts must be equal", site);
  }
  return {view_, std::move(shape), placement_};
}

// A copy in new storage would hide the write from the program, whose memory the tensor is.
void AnyTensor::require_writable_memory() const {
  const Buffer& buffer = *view_.buffer;
  const auto reject = [&](const char* reason, const char* hint) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "a write to a tensor " + to_string(shape_) +
                                   " over memory of the "
                                   "program's own" +
                                   reason,
                               hint, detail::submitting_site());
  };
  if (buffer.is_read_only()) {
    reject(", whose elements are const",
           "make the tensor over a span of elements without const, or write to a copy, such as "
           "Tensor::from(x.shape(), x.to_host())");
  }
  detail::note_copy_for_write(*this);
  if (detail::host_accesses != nullptr) detail::host_accesses->asks_for_owners(&view_.buffer);
  if (view_.buffer.use_count() != 1) {
    reject(", while a second tensor shares the memory",
           "end the second tensor first, or make it a copy, such as Tensor::from(x.shape(), "
           "x.to_host())");
  }
}

const BufferView& AnyTensor::writable(bool keep) {
  if (empty()) require_storage(*this, detail::submitting_site());
  touched_by_call(*this, false);
  // A write also if the storage stays: whether storage is shared may depend on the schedule.
  touched_by_call(*this, true);
  if (is_foreign()) {
    require_writable_memory();
    return view_;
  }
  if (!detail::counts_as_shared(*this)) return view_;
  detail::note_copy_for_write(*this);
  *this = keep ? detail::own_copy(*this) : allocate(dtype(), shape_, placement_);
  return view_;
}

AnyTensor detail::own_copy(const AnyTensor& tensor) {
  AnyTensor copy = AnyTensor::allocate(tensor.dtype(), tensor.shape(), tensor.placement());
  if (tensor.view().count != 0) {
    detail::copy_in_order(device_of(tensor.placement()).compute_stream(), copy.view(),
                          tensor.view());
  }
  return copy;
}

void detail::part_from_program(AnyTensor& tensor) {
  if (tensor.is_foreign()) tensor = own_copy(tensor);
}

}  // namespace belfry
