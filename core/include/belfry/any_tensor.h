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

/// A tensor whose element type is known at run time: what `Tensor<T>` is made of. A value: copies
/// share storage until one of them is written (copy on write). Work on it is enqueued on the
/// compute stream of its device, and refused in a replica whose run has failed (SEM-7).
class AnyTensor {
 public:
  AnyTensor() = default;

  /// Storage with undefined contents. Throws: DeviceError (kOutOfMemory); InvalidArgumentError
  /// (kUnknownDevice) for a placement that names no device.
  static AnyTensor allocate(DType dtype, Shape shape, Placement placement);
  /// A copy of host memory, which has the shape's elements, row-major.
  /// Order: enqueued; `data` may be reused at once. Throws: as allocate.
  static AnyTensor from_host(DType dtype, Shape shape, const void* data, Placement placement);
  /// A tensor over `view`, which holds the shape's elements. Throws: InternalError when it holds
  /// more or fewer.
  AnyTensor(BufferView view, Shape shape, Placement placement);

  bool empty() const { return view_.buffer == nullptr; }
  DType dtype() const { return view_.dtype; }
  const Shape& shape() const { return shape_; }
  const Placement& placement() const { return placement_; }
  const BufferView& view() const { return view_; }
  std::size_t bytes() const { return view_.bytes(); }

  /// Copies the elements to host memory, bytes() of them. Order: blocks the host until they are
  /// computed. Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed tensor;
  /// DeviceError (kOutOfBounds, kUninitialised, kDeadlock, kDeviceLost) for what their work met
  /// (SEM-73 to SEM-75).
  void read(void* to) const;
  /// The same elements on another device of the same backend; this tensor where it is there
  /// already. Order: the target's compute stream waits for the source's, which waits for the copy;
  /// the host does not block.
  /// Throws: InvalidArgumentError (kForeignObject) for another backend, (kUnknownDevice),
  /// (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  AnyTensor copy_to(Placement target) const;
  /// The same storage under another shape of as many elements. Order: enqueues nothing.
  /// Throws: InvalidArgumentError (kShape) for another count.
  AnyTensor reshaped(Shape shape, CallSite site = CallSite::here()) const;
  /// The view to write to: this tensor's own storage when nobody shares it, else a fresh copy
  /// (`keep`) or fresh undefined storage that replaces it. Order: copies are enqueued.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed tensor; DeviceError
  /// (kOutOfMemory).
  const BufferView& writable(bool keep);

 private:
  BufferView view_{};
  Shape shape_{0};
  Placement placement_{};
};

}  // namespace belfry
