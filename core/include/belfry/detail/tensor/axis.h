// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstdint>
#include <string_view>
#include <vector>

/// Joining, slicing and adding up along one axis of a tensor of any rank.
///
/// Order: enqueued on the compute stream of the operands' device; the host does not block.
/// Throws: InvalidArgumentError with kShape, also for a missing axis, kDType, kForeignObject, or
/// kInvalidArgument for an empty list or a default-constructed tensor; DeviceError (kOutOfMemory).
namespace belfry {

namespace detail {

/// The axis, counted from 0.
/// Throws: InvalidArgumentError (kShape) if the shape lacks the axis.
int axis_of(const Shape& shape, Axis axis, std::string_view what, CallSite site);
/// The product of the extents of axes `begin` to before `end`, at most the largest 64-bit number. A
/// larger product needs an extent of 0 elsewhere in the shape.
std::int64_t extents_product(const Shape& shape, int begin, int end);
/// `shape` with another extent at `axis`, or without that axis.
Shape with_extent(const Shape& shape, int axis, std::int64_t extent);
Shape without_axis(const Shape& shape, int axis);

/// Joins tensors along `axis`. `flat` holds the elements of tensor after tensor; `extents` are the
/// tensors' extents along `axis`; `shape` is the shape of any of the tensors.
AnyTensor join(const AnyTensor& flat, const Shape& shape, int axis,
               const std::vector<std::int64_t>& extents, CallSite site);
/// The inverse of join: the parts between `begins` along `axis`, one after another in a vector.
/// Along the first axis longer than 1 the vector shares storage with `x`.
AnyTensor split(const AnyTensor& x, int axis, const std::vector<std::int64_t>& begins,
                CallSite site);
/// The elements of part after part, as a vector. All parts must be on the device of the first.
AnyTensor flatten_all(const std::vector<AnyTensor>& parts);

AnyTensor launch_slice(const AnyTensor& x, int axis, std::int64_t begin, std::int64_t end,
                       CallSite site);
AnyTensor launch_axis_fold(FoldOp op, const AnyTensor& x, int axis, std::string_view what,
                           CallSite site);
AnyTensor launch_concatenate(const std::vector<AnyTensor>& parts, Axis axis, CallSite site);

}  // namespace detail

/// The tensors joined along `axis`: [a, c] and [b, c] give [a + b, c] along axis 0. All other
/// extents must be equal. Any element type.
template <Element T>
Tensor<T> concatenate(const std::vector<Tensor<T>>& parts, Axis axis = Axis(0),
                      CallSite site = CallSite::here()) {
  std::vector<AnyTensor> plain;
  plain.reserve(parts.size());
  for (const Tensor<T>& part : parts) plain.push_back(part.any());
  return Tensor<T>(detail::launch_concatenate(plain, axis, site));
}

/// The elements `begin` to before `end` of `axis`. Along the first axis longer than 1 the slice
/// shares storage with `x` until either is written. Any element type.
template <Element T>
Tensor<T> slice(const Tensor<T>& x, Axis axis, std::int64_t begin, std::int64_t end,
                CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_slice(x.any(), detail::axis_of(x.shape(), axis, "slice", site),
                                        begin, end, site));
}

/// The sum over `axis`; the result lacks the axis: [a, b, c] gives [a, c] for axis 1. Elements are
/// added in ascending order; 16-bit floats accumulate in float and are rounded once; an empty sum
/// is 0.
template <Element T>
Tensor<T> axis_sum(const Tensor<T>& x, Axis axis, CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_axis_fold(
      FoldOp::kSum, x.any(), detail::axis_of(x.shape(), axis, "axis_sum", site), "axis_sum", site));
}

}  // namespace belfry
