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

/// An n-dimensional array on one device, row-major. Copies are cheap and never seen by one another.
/// Made on the current device unless a placement is given; `belfry/tensor_ops.h` computes with it.
/// What makes one throws ContextError (kWrongContext) where no device is current and no placement
/// is given (SEM-16), InvalidArgumentError (kUnknownDevice) for a placement that names no device,
/// and DeviceError (kOutOfMemory). In a replica whose run has failed, what makes, writes, copies or
/// reads one throws ReplicaCancelled (SEM-7).
template <Element T>
class Tensor {
 public:
  using element_type = T;

  /// No elements, on no device.
  Tensor() = default;

  /// `values` in row-major order, one for each element of `shape`. Order: enqueued on the device's
  /// compute stream; `values` may be reused at once. Throws: InvalidArgumentError (kShape) when the
  /// counts differ; ContextError (kWrongContext); DeviceError (kOutOfMemory).
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
  /// Every element is `value`. Order: filled on the device, enqueued on its compute stream.
  /// Throws: ContextError (kWrongContext); DeviceError (kOutOfMemory).
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

  /// The same tensor with its element type. Throws: InternalError when it has another one.
  explicit Tensor(AnyTensor any) : any_(std::move(any)) {
    check(any_.empty() || any_.dtype() == dtype_of<T>(), "element type of a tensor");
  }

  const Shape& shape() const { return any_.shape(); }
  std::int64_t count() const { return any_.shape().count(); }
  const Placement& placement() const { return any_.placement(); }
  bool empty() const { return any_.empty(); }
  const AnyTensor& any() const { return any_; }
  AnyTensor& any() { return any_; }

  /// The elements, row-major, as a `std::vector`, of `bool` as one of bytes; none of a tensor that
  /// is default-constructed. Order: blocks the host until they are computed. Throws: DeviceError
  /// (kOutOfBounds, kUninitialised, kDeadlock, kDeviceLost) for what their work met (SEM-73 to
  /// SEM-75).
  auto to_host() const {
    std::vector<Plain> values(static_cast<std::size_t>(any_.empty() ? 0 : count()));
    if (!values.empty()) any_.read(values.data());
    return values;
  }
  /// The single element of a tensor that has one. Order: blocks the host. Throws:
  /// InvalidArgumentError (kShape) when there are none or several; as to_host.
  T item(CallSite site = CallSite::here()) const {
    if (any_.empty() || count() != 1) {
      throw InvalidArgumentError(ErrorCode::kShape, "item() of a tensor " + to_string(shape()),
                                 "only a tensor with one element has an item", site);
    }
    return static_cast<T>(to_host()[0]);
  }
  /// The same elements on another device of the same backend; shares storage, until one is written,
  /// where they are there already. Order: the target's compute stream waits for the source's, which
  /// waits for the copy; the host does not block.
  /// Throws: InvalidArgumentError (kForeignObject) for another backend, (kUnknownDevice),
  /// (kInvalidArgument) for a default-constructed tensor; DeviceError (kOutOfMemory).
  Tensor copy_to(Placement target) const { return Tensor(any_.copy_to(target)); }
  /// The same elements, row-major, under another shape of as many; shares storage until one is
  /// written. Order: enqueues nothing. Throws: InvalidArgumentError (kShape) for another count.
  Tensor reshaped(Shape shape, CallSite site = CallSite::here()) const {
    return Tensor(any_.reshaped(std::move(shape), site));
  }

 private:
  // std::vector<bool> has no elements to copy to and from.
  using Plain = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

  AnyTensor any_;
};

namespace detail {
template <class T>
struct IsTensor<Tensor<T>> : std::true_type {};
}  // namespace detail

}  // namespace belfry
