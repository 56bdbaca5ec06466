// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/call_site.h"
#include "belfry/dtype.h"
#include "belfry/placement.h"
#include "belfry/shape.h"

#include <cstddef>
#include <string>

namespace belfry {

/// A tensor with an element type known at run time; `Tensor<T>` wraps an AnyTensor. A value: copies
/// share storage until a copy is written (copy on write). Work is enqueued on the compute stream of
/// the tensor's device; a replica of a failed run gets ReplicaCancelled instead (SEM-7).
class AnyTensor {
 public:
  AnyTensor() = default;

  /// A tensor with undefined contents. Throws: DeviceError (kOutOfMemory); InvalidArgumentError
  /// (kUnknownDevice) for a placement without a device.
  static AnyTensor allocate(DType dtype, Shape shape, Placement placement);
  /// A tensor with a copy of host memory: `shape.count()` elements, row-major.
  /// Order: enqueued; `data` may be reused at once. Throws: as allocate.
  static AnyTensor from_host(DType dtype, Shape shape, const void* data, Placement placement);
  /// A tensor over `view`. Throws: InternalError unless `view` has `shape.count()` elements.
  AnyTensor(BufferView view, Shape shape, Placement placement);

  bool empty() const { return view_.buffer == nullptr; }
  DType dtype() const { return view_.dtype; }
  const Shape& shape() const { return shape_; }
  const Placement& placement() const { return placement_; }
  const BufferView& view() const { return view_; }
  std::size_t bytes() const { return view_.bytes(); }

  /// Copies the elements, bytes() bytes, to host memory. Order: blocks the host until the elements
  /// are computed. Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed
  /// tensor; DeviceError (kOutOfBounds, kUninitialised, kDeadlock, kDeviceLost) if the work that
  /// computes the elements failed (SEM-73 to SEM-75).
  void read(void* to) const;
  /// A copy on another device of the same backend, or this tensor if `target` is its placement.
  /// Order: the target's compute stream waits for the source's compute stream, and later work of
  /// the source's stream waits for the copy; the host does not block.
  /// Throws: InvalidArgumentError (kForeignObject) for another backend, (kUnknownDevice),
  /// (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  AnyTensor copy_to(Placement target) const;
  /// The same storage with another shape. Order: enqueues nothing.
  /// Throws: InvalidArgumentError (kShape) if the numbers of elements differ.
  AnyTensor reshaped(Shape shape, CallSite site = CallSite::here()) const;
  /// The view for writing. Shared storage is first replaced by storage of this tensor alone: a copy
  /// if `keep`, else undefined contents. Order: the copy is enqueued.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed tensor; DeviceError
  /// (kOutOfMemory).
  const BufferView& writable(bool keep);

 private:
  BufferView view_{};
  Shape shape_{0};
  Placement placement_{};
};

}  // namespace belfry
