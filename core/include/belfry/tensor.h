// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/any_tensor.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/error.h"

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace belfry {

/// An n-dimensional array on one device, row-major. Copies are cheap, and a write to a copy changes
/// no other copy. New tensors are on the current device unless a placement is given;
/// `belfry/tensor_ops.h` has the arithmetic.
/// Throws, from every maker: ContextError (kWrongContext) if no device is current and no placement
/// is given (SEM-16); InvalidArgumentError (kUnknownDevice) for a placement without a device;
/// DeviceError (kOutOfMemory). In a replica of a failed run every function that makes, writes,
/// copies or reads a tensor throws ReplicaCancelled (SEM-7).
template <Element T>
class Tensor {
 public:
  using element_type = T;

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
    return Tensor(AnyTensor::from_host(dtype_of<T>(), std::move(shape), values.data(), placement));
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

  /// The same tensor, typed. Throws: InternalError if the element type is not T.
  explicit Tensor(AnyTensor any) : any_(std::move(any)) {
    check(any_.empty() || any_.dtype() == dtype_of<T>(), "element type of a tensor");
  }

  const Shape& shape() const { return any_.shape(); }
  std::int64_t count() const { return any_.shape().count(); }
  const Placement& placement() const { return any_.placement(); }
  bool empty() const { return any_.empty(); }
  const AnyTensor& any() const { return any_; }
  AnyTensor& any() { return any_; }

  /// The elements, row-major, as a `std::vector`; elements of `bool` come as `std::uint8_t`. A
  /// default-constructed tensor gives an empty vector. Order: blocks the host until the elements
  /// are computed. Throws: DeviceError (kOutOfBounds, kUninitialised, kDeadlock, kDeviceLost) if
  /// the work that computes the elements failed (SEM-73 to SEM-75).
  auto to_host() const {
    std::vector<Plain> values(static_cast<std::size_t>(any_.empty() ? 0 : count()));
    if (!values.empty()) any_.read(values.data());
    return values;
  }
  /// The element of a tensor with exactly 1 element. Order: blocks the host. Throws:
  /// InvalidArgumentError (kShape) for any other count; as to_host.
  T item(CallSite site = CallSite::here()) const {
    if (any_.empty() || count() != 1) {
      throw InvalidArgumentError(ErrorCode::kShape, "item() of a tensor " + to_string(shape()),
                                 "only a tensor with one element has an item", site);
    }
    return static_cast<T>(to_host()[0]);
  }
  /// A copy on another device of the same backend. A copy to the tensor's own placement shares
  /// storage until either is written. Order: the target's compute stream waits for the source's
  /// compute stream, and later work of the source's stream waits for the copy; the host does not
  /// block.
  /// Throws: InvalidArgumentError (kForeignObject) for another backend, (kUnknownDevice),
  /// (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  Tensor copy_to(Placement target) const { return Tensor(any_.copy_to(target)); }
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

namespace detail {
template <class T>
struct IsTensor<Tensor<T>> : std::true_type {};
}  // namespace detail

}  // namespace belfry
