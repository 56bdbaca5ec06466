// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"

#include <cstddef>
#include <string>

namespace belfry {

class Backend;
class Device;

/// A device of a backend: the location of a tensor.
struct Placement {
  Backend* backend = nullptr;  ///< The backend; null: no place.
  int device = 0;              ///< The index in the backend.

  bool operator==(const Placement&) const = default;
};

/// The name of the device; `no device` without a backend.
std::string to_string(const Placement& placement);

/// The device of the current replica, of the component being updated, or of replica 0 in
/// cross-replica context (SEM-16).
/// Throws: ContextError (kWrongContext) outside every strategy.
Placement current_placement(CallSite site = CallSite::here());

/// The device of a placement.
/// Throws: InvalidArgumentError (kUnknownDevice) if the backend lacks the device; ReplicaCancelled
/// in a replica of a failed run (SEM-7).
Device& device_of(const Placement& placement);

/// A tensor with an element type known at run time; `Tensor<T>` wraps an AnyTensor. A value: copies
/// share storage until a copy is written (copy on write). Work is enqueued on the compute stream of
/// the tensor's device; a replica of a failed run gets ReplicaCancelled instead (SEM-7). The work
/// has the call site `site`, or if that is empty, the site of the innermost detail::SiteScope.
class AnyTensor {
 public:
  AnyTensor() = default;

  /// A tensor with undefined contents.
  /// Throws: DeviceError (kOutOfMemory); InvalidArgumentError (kUnknownDevice) for a placement
  /// without a device.
  static AnyTensor allocate(DType dtype, Shape shape, Placement placement);
  /// A tensor with a copy of host memory: `shape.count()` elements, row-major.
  /// Order: enqueued; `data` may be reused at once.
  /// Throws: as allocate.
  static AnyTensor from_host(DType dtype, Shape shape, const void* data, Placement placement,
                             CallSite site = {});
  /// A tensor over `view`.
  /// Throws: InternalError unless `view` has `shape.count()` elements.
  AnyTensor(BufferView view, Shape shape, Placement placement);

  /// Whether the tensor has no storage.
  bool empty() const { return view_.buffer == nullptr; }
  DType dtype() const { return view_.dtype; }                ///< The element type.
  const Shape& shape() const { return shape_; }              ///< The extents.
  const Placement& placement() const { return placement_; }  ///< The device.
  /// The range of the buffer. Work that the caller enqueues with the view, directly on a stream, is
  /// not ordered with copies and reductions of the tensor (SEM-245).
  const BufferView& view() const { return view_; }
  std::size_t bytes() const { return view_.bytes(); }  ///< The size of all elements.

  /// Copies the elements, bytes() bytes, to host memory.
  /// Order: blocks the host until the elements are computed.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed tensor; DeviceError
  /// (kOutOfBounds, kUninitialised, kDeadlock, kDeviceLost) if the work that computes the elements
  /// failed (SEM-73 to SEM-75).
  void read(void* to, CallSite site = {}) const;
  /// A copy on another device of the same backend, or this tensor if `target` is its placement.
  /// Order: the target's compute stream waits for the source's compute stream. Later work of the
  /// source's stream waits for the copy if it changes the source; the host does not block.
  /// Throws: InvalidArgumentError (kForeignObject) for another backend, (kUnknownDevice),
  /// (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  AnyTensor copy_to(Placement target, CallSite site = {}) const;
  /// The same storage with another shape.
  /// Order: enqueues nothing.
  /// Throws: InvalidArgumentError (kShape) if the numbers of elements differ.
  AnyTensor reshaped(Shape shape, CallSite site = CallSite::here()) const;
  /// Whether a different tensor, view or command uses the storage, too; memory of the program's own
  /// always has a second user. Storage without another user may be overwritten in place; no other
  /// function decides so.
  bool is_shared() const { return view_.buffer.use_count() != 1 || is_foreign(); }
  /// Whether the storage is memory of the program's own (Tensor::over).
  bool is_foreign() const { return view_.buffer != nullptr && view_.buffer->is_foreign(); }
  /// The view for writing. Shared storage is first replaced by storage of this tensor alone: a copy
  /// if `keep`, else undefined contents. Memory of the program's own is never replaced.
  /// Order: the copy is enqueued.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed tensor, and for
  /// memory of the program's own that is read-only or has a second handle; DeviceError
  /// (kOutOfMemory).
  const BufferView& writable(bool keep);

 private:
  void require_writable_memory() const;

  BufferView view_{};
  Shape shape_{0};
  Placement placement_{};
};

/// Element type, shape and device: `float32[2,3] on /job:localhost/replica:0/task:0/device:SIM:0`.
/// No elements: the host does not wait for the elements.
std::string to_string(const AnyTensor& tensor);

namespace detail {
/// A copy with storage of its own, on the tensor's device.
/// Order: enqueued.
/// Throws: as AnyTensor::allocate.
AnyTensor own_copy(const AnyTensor& tensor);
/// Replaces a tensor over memory of the program's own by a copy: strategies keep no memory of the
/// program (SEM-180).
/// Order, Throws: as own_copy.
void part_from_program(AnyTensor& tensor);

}  // namespace detail

}  // namespace belfry
