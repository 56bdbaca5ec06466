// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/call_site.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/dtype.h"
#include "belfry/element_traits.h"
#include "belfry/error.h"
#include "belfry/shape.h"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

class Backend;
class Device;

namespace detail {
/// The types that can be named in a Tensor; the makers refuse a UserElement.
template <class T>
concept TensorElement = Element<T> || UserElement<T>;
}  // namespace detail

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

/// The device of a placement. Throws: InvalidArgumentError (kUnknownDevice) if the backend lacks
/// the device; ReplicaCancelled in a replica of a failed run (SEM-7).
Device& device_of(const Placement& placement);

/// A tensor with an element type known at run time; `Tensor<T>` wraps an AnyTensor. A value: copies
/// share storage until a copy is written (copy on write). Work is enqueued on the compute stream of
/// the tensor's device; a replica of a failed run gets ReplicaCancelled instead (SEM-7). The work
/// has the call site `site`, or if that is empty, the site of the innermost detail::SiteScope.
class AnyTensor {
 public:
  AnyTensor() = default;

  /// A tensor with undefined contents. Throws: DeviceError (kOutOfMemory); InvalidArgumentError
  /// (kUnknownDevice) for a placement without a device.
  static AnyTensor allocate(DType dtype, Shape shape, Placement placement);
  /// A tensor with a copy of host memory: `shape.count()` elements, row-major.
  /// Order: enqueued; `data` may be reused at once. Throws: as allocate.
  static AnyTensor from_host(DType dtype, Shape shape, const void* data, Placement placement,
                             CallSite site = {});
  /// A tensor over `view`. Throws: InternalError unless `view` has `shape.count()` elements.
  AnyTensor(BufferView view, Shape shape, Placement placement);

  /// Whether the tensor has no storage.
  bool empty() const { return view_.buffer == nullptr; }
  DType dtype() const { return view_.dtype; }                ///< The element type.
  const Shape& shape() const { return shape_; }              ///< The extents.
  const Placement& placement() const { return placement_; }  ///< The device.
  const BufferView& view() const { return view_; }           ///< The range of the buffer.
  std::size_t bytes() const { return view_.bytes(); }        ///< The size of all elements.

  /// Copies the elements, bytes() bytes, to host memory. Order: blocks the host until the elements
  /// are computed. Throws: InvalidArgumentError (kInvalidArgument) for a default-constructed
  /// tensor; DeviceError (kOutOfBounds, kUninitialised, kDeadlock, kDeviceLost) if the work that
  /// computes the elements failed (SEM-73 to SEM-75).
  void read(void* to, CallSite site = {}) const;
  /// A copy on another device of the same backend, or this tensor if `target` is its placement.
  /// Order: the target's compute stream waits for the source's compute stream, and later work of
  /// the source's stream waits for the copy; the host does not block.
  /// Throws: InvalidArgumentError (kForeignObject) for another backend, (kUnknownDevice),
  /// (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  AnyTensor copy_to(Placement target, CallSite site = {}) const;
  /// The same storage with another shape. Order: enqueues nothing.
  /// Throws: InvalidArgumentError (kShape) if the numbers of elements differ.
  AnyTensor reshaped(Shape shape, CallSite site = CallSite::here()) const;
  /// Whether a different tensor, view or command uses the storage, too. Storage without another
  /// user may be overwritten in place; no other function decides so.
  bool is_shared() const { return view_.buffer.use_count() != 1; }
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

/// An n-dimensional array on one device, row-major. Copies are cheap, and a write to a copy changes
/// no other copy. New tensors are on the current device unless a placement is given;
/// `belfry/tensor_ops.h` has the arithmetic.
/// Throws, from every maker: ContextError (kWrongContext) if no device is current and no placement
/// is given (SEM-16); InvalidArgumentError (kUnknownDevice) for a placement without a device;
/// DeviceError (kOutOfMemory). In a replica of a failed run every function that makes, writes,
/// copies or reads a tensor throws ReplicaCancelled (SEM-7).
template <detail::TensorElement T>
class Tensor {
 public:
  using element_type = T;  ///< The type of an element.

  /// A tensor without elements and without a device.
  Tensor() = default;

  /// A tensor of `values` in row-major order, a value for each element of `shape`. Order: enqueued
  /// on the device's compute stream; `values` may be reused at once. Throws: InvalidArgumentError
  /// (kShape) if the counts differ; ContextError (kWrongContext); DeviceError (kOutOfMemory).
  static Tensor from(Shape shape, std::span<const T> values, CallSite site = CallSite::here()) {
    return from(std::move(shape), values, current_placement(site), site);
  }
  static Tensor from(Shape shape, std::span<const T> values, Placement placement,
                     CallSite site = CallSite::here()) {
    if (shape.count() != static_cast<std::int64_t>(values.size())) {
      throw InvalidArgumentError(
          ErrorCode::kShape,
          std::to_string(values.size()) + " values for shape " + to_string(shape),
          "give one value for each element", site);
    }
    return Tensor(
        AnyTensor::from_host(dtype_of<T>(), std::move(shape), values.data(), placement, site));
  }
  static Tensor from(Shape shape, std::initializer_list<T> values,
                     CallSite site = CallSite::here()) {
    return from(std::move(shape), std::span(values), site);
  }
  static Tensor from(Shape shape, std::initializer_list<T> values, Placement placement,
                     CallSite site = CallSite::here()) {
    return from(std::move(shape), std::span(values), placement, site);
  }
  /// A tensor with `value` in every element. Order: filled on the device, enqueued on the compute
  /// stream. Throws: ContextError (kWrongContext); DeviceError (kOutOfMemory).
  static Tensor full(Shape shape, T value, CallSite site = CallSite::here()) {
    return full(std::move(shape), value, current_placement(site), site);
  }
  static Tensor full(Shape shape, T value, Placement placement, CallSite site = CallSite::here()) {
    return Tensor(detail::launch_fill(dtype_of<T>(), std::move(shape), detail::Scalar::of(value),
                                      placement, site));
  }
  /// `full` with 0, on the current device.
  static Tensor zeros(Shape shape, CallSite site = CallSite::here()) {
    return full(std::move(shape), T(0), site);
  }

  /// A tensor with undefined contents, to be written by a copy or a kernel (`writes` of
  /// belfry/launch.h). The simulator reports reads of elements that were never written (SEM-73).
  /// Order: enqueues nothing. Throws: ContextError (kWrongContext); DeviceError (kOutOfMemory).
  static Tensor uninitialised(Shape shape, CallSite site = CallSite::here()) {
    return uninitialised(std::move(shape), current_placement(site), site);
  }
  static Tensor uninitialised(Shape shape, Placement placement, CallSite site = CallSite::here()) {
    return Tensor(detail::make_uninitialised(dtype_of<T>(), std::move(shape), placement, site));
  }

  /// The same tensor, typed. Throws: InternalError if the element type is not T.
  explicit Tensor(AnyTensor any) : any_(std::move(any)) {
    check(any_.empty() || any_.dtype() == dtype_of<T>(), "element type of a tensor");
  }

  const Shape& shape() const { return any_.shape(); }              ///< The extents.
  std::int64_t count() const { return any_.shape().count(); }      ///< The number of elements.
  const Placement& placement() const { return any_.placement(); }  ///< The device.
  bool empty() const { return any_.empty(); }                      ///< Whether there is no storage.
  const AnyTensor& any() const { return any_; }                    ///< The tensor without its type.
  AnyTensor& any() { return any_; }                                ///< As above, for changing.

  /// The elements, row-major, as a `std::vector`; elements of `bool` come as `std::uint8_t`. A
  /// default-constructed tensor gives an empty vector. Order: blocks the host until the elements
  /// are computed. Throws: DeviceError (kOutOfBounds, kUninitialised, kDeadlock, kDeviceLost) if
  /// the work that computes the elements failed (SEM-73 to SEM-75).
  auto to_host(CallSite site = CallSite::here()) const {
    std::vector<Plain> values(static_cast<std::size_t>(any_.empty() ? 0 : count()));
    if (!values.empty()) any_.read(values.data(), site);
    return values;
  }
  /// The element of a tensor with exactly 1 element. Order: blocks the host. Throws:
  /// InvalidArgumentError (kShape) for any other count; as to_host.
  T item(CallSite site = CallSite::here()) const {
    if (any_.empty() || count() != 1) {
      throw InvalidArgumentError(ErrorCode::kShape, "item() of a tensor " + to_string(shape()),
                                 "only a tensor with one element has an item", site);
    }
    return static_cast<T>(to_host(site)[0]);
  }
  /// A copy on another device of the same backend. A copy to the tensor's own placement shares
  /// storage until either is written. Order: the target's compute stream waits for the source's
  /// compute stream, and later work of the source's stream waits for the copy; the host does not
  /// block.
  /// Throws: InvalidArgumentError (kForeignObject) for another backend, (kUnknownDevice),
  /// (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  Tensor copy_to(Placement target, CallSite site = CallSite::here()) const {
    return Tensor(any_.copy_to(target, site));
  }
  /// The same elements, row-major, with another shape; storage is shared until either tensor is
  /// written. Order: enqueues nothing. Throws: InvalidArgumentError (kShape) if the counts differ.
  Tensor reshaped(Shape shape, CallSite site = CallSite::here()) const {
    return Tensor(any_.reshaped(std::move(shape), site));
  }

 private:
  // std::vector<bool> has no array of elements to copy from and to.
  using Plain = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

  AnyTensor any_;
};

/// Element type, shape and device: `float32[2,3] on /job:localhost/replica:0/task:0/device:SIM:0`.
/// No elements: the host does not wait for the elements.
std::string to_string(const AnyTensor& tensor);
template <class T>
std::string to_string(const Tensor<T>& tensor) {
  return to_string(tensor.any());
}

namespace detail {
template <Element T>
struct IsTensor<Tensor<T>> : std::true_type {};
template <>
inline constexpr bool kPrints<Placement> = true;
template <>
inline constexpr bool kPrints<AnyTensor> = true;
template <class T>
inline constexpr bool kPrints<Tensor<T>> = true;
}  // namespace detail

}  // namespace belfry

#include "belfry/detail/tensor/of_user_element.h"
