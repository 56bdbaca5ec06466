// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/tensor/any_tensor.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/dtype.h"
#include "belfry/error.h"
#include "belfry/shape.h"

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

namespace detail {
/// The types that can be named in a Tensor; the makers refuse a UserElement.
template <class T>
concept TensorElement = Element<T> || UserElement<T>;
}  // namespace detail

/// An n-dimensional array on one device, row-major.
///
///     const auto x = Tensor<float>::from({2, 2}, {1, 2, 3, 4});    // On the current device.
///     Tensor<float> y = x;                                         // Shares the elements.
///     y = add(y, Tensor<float>::full({2, 2}, 1));                  // Enqueued; x stays as it is.
///     const std::vector<float> values = y.to_host();               // Waits: 2, 3, 4, 5.
///
/// Copies are cheap, and a write to a copy changes no other copy. A replica's tensors are on the
/// replica's device. Outside replicas a tensor needs a placement, or a scope with a current device.
/// `belfry/tensor_ops.h` has the arithmetic. Work on tensors runs on the compute stream of their
/// device, in the order of the calls; the host blocks only in `to_host` and `item`.
/// Throws, from every maker:
/// - ContextError (kWrongContext): no placement is given, and no device is current (SEM-16);
/// - InvalidArgumentError (kUnknownDevice): a placement without a device;
/// - DeviceError (kOutOfMemory);
/// - ReplicaCancelled: in a replica of a failed run, from every function that makes, writes, copies
///   or reads a tensor (SEM-7).
template <detail::TensorElement T>
class Tensor {
 public:
  using element_type = T;  ///< The type of an element.

  /// A tensor without elements and without a device.
  Tensor() = default;

  /// A tensor of `values` in row-major order, a value for each element of `shape`.
  /// Order: a copy is enqueued; `values` may be reused at once.
  /// Throws: InvalidArgumentError (kShape) if the counts differ.
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
  /// A tensor with `value` in every element.
  /// Order: filled on the device; enqueued.
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

  /// A tensor without contents, to be written by a copy or a kernel (`writes` of belfry/launch.h).
  /// The simulator reports reads of elements that were never written (SEM-73).
  /// Order: enqueues nothing.
  static Tensor uninitialised(Shape shape, CallSite site = CallSite::here()) {
    return uninitialised(std::move(shape), current_placement(site), site);
  }
  static Tensor uninitialised(Shape shape, Placement placement, CallSite site = CallSite::here()) {
    return Tensor(detail::make_uninitialised(dtype_of<T>(), std::move(shape), placement, site));
  }

  /// A tensor over memory of the program, in place: `shape.count()` elements, row-major.
  ///
  ///     std::vector<float> memory{1, 2, 3};
  ///     auto x = Tensor<float>::over({3}, std::span(memory));  // `memory` outlives x.
  ///
  /// The memory is of the host for simulated devices and devices of the host; for a GPU, of this
  /// GPU or managed. Elements of type const are read only. `owner` keeps the memory alive, and is
  /// released on the host after the last handle has ended and all work on the memory is done. The
  /// program touches the memory only before the tensor is made, and after a host wait for the
  /// tensor's work, such as `to_host`.
  /// The bytes count as written, and as no allocation of the device. Copies of the tensor share the
  /// memory. Reductions put no result there, and variables and broadcasts copy the elements. A
  /// write while a second handle shares the memory, or to const elements, is an
  /// InvalidArgumentError (kInvalidArgument).
  /// Order: enqueues nothing.
  /// Throws, beside the errors of every maker:
  /// - InvalidArgumentError (kShape): the counts differ;
  /// - InvalidArgumentError (kInvalidArgument): null, or memory not aligned to the element type;
  /// - InvalidArgumentError (kForeignObject): memory beyond the device;
  /// - UnsupportedError (kUnsupported): a device without such tensors.
  template <class E, std::size_t kExtent, class Owner = std::nullptr_t>
    requires std::is_same_v<std::remove_const_t<E>, T> &&
             std::is_convertible_v<Owner, std::shared_ptr<const void>>
  static Tensor over(Shape shape, std::span<E, kExtent> memory, Owner owner = nullptr,
                     CallSite site = CallSite::here()) {
    return over(std::move(shape), memory, current_placement(site), std::move(owner), site);
  }
  template <class E, std::size_t kExtent>
    requires std::is_same_v<std::remove_const_t<E>, T>
  static Tensor over(Shape shape, std::span<E, kExtent> memory, Placement placement,
                     std::shared_ptr<const void> owner = nullptr,
                     CallSite site = CallSite::here()) {
    return Tensor(detail::make_over(dtype_of<T>(), std::move(shape),
                                    {.address = const_cast<T*>(memory.data()),
                                     .bytes = memory.size_bytes(),
                                     .read_only = std::is_const_v<E>,
                                     .owner = std::move(owner)},
                                    placement, site));
  }

  /// The same tensor, typed.
  /// Throws: InternalError if the element type is not T.
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
  /// default-constructed tensor gives an empty vector.
  /// Order: blocks the host until the elements are computed.
  /// Throws: DeviceError (kOutOfBounds, kUninitialised, kDeadlock, kDeviceLost) if the work that
  /// computes the elements failed (SEM-73 to SEM-75).
  auto to_host(CallSite site = CallSite::here()) const {
    std::vector<Plain> values(static_cast<std::size_t>(any_.empty() ? 0 : count()));
    if (!values.empty()) any_.read(values.data(), site);
    return values;
  }
  /// The element of a tensor with exactly 1 element.
  /// Order: blocks the host, as to_host.
  /// Throws: as to_host; InvalidArgumentError (kShape) for any other count.
  T item(CallSite site = CallSite::here()) const {
    if (any_.empty() || count() != 1) {
      throw InvalidArgumentError(ErrorCode::kShape, "item() of a tensor " + to_string(shape()),
                                 "only a tensor with one element has an item", site);
    }
    return static_cast<T>(to_host(site)[0]);
  }
  /// A copy on another device of the same backend. A copy to the tensor's own device shares storage
  /// until either is written.
  /// Order: enqueued; the target's compute stream waits for the source's. Later work of the
  /// source's stream waits for the copy if it changes the source (SEM-245). Throws:
  /// - InvalidArgumentError (kForeignObject): a placement of another backend;
  /// - InvalidArgumentError (kUnknownDevice): a placement without a device;
  /// - InvalidArgumentError (kInvalidArgument): a default-constructed tensor;
  /// - DeviceError (kOutOfMemory).
  Tensor copy_to(Placement target, CallSite site = CallSite::here()) const {
    return Tensor(any_.copy_to(target, site));
  }
  /// The same elements, row-major, with another shape; storage is shared until either tensor is
  /// written.
  /// Order: enqueues nothing.
  /// Throws: InvalidArgumentError (kShape) if the counts differ.
  Tensor reshaped(Shape shape, CallSite site = CallSite::here()) const {
    return Tensor(any_.reshaped(std::move(shape), site));
  }

 private:
  // std::vector<bool> has no array of elements to copy from and to.
  using Plain = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

  AnyTensor any_;
};

/// As of AnyTensor.
template <class T>
std::string to_string(const Tensor<T>& tensor) {
  return to_string(tensor.any());
}

namespace detail {
template <Element T>
struct IsTensor<Tensor<T>> : std::true_type {};
template <class T>
inline constexpr bool kPrints<Tensor<T>> = true;
}  // namespace detail

}  // namespace belfry

#include "belfry/detail/tensor/of_user_element.h"
