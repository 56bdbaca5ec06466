// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/tensor/math.h"
#include "belfry/detail/tensor_launch.h"

#include <cstdint>
#include <utility>

/// Random tensors from a counter. Element i is a function of `seed` and `offset + i` alone: equal
/// arguments give equal bits on every device. A draw with different numbers needs another seed, or
/// an offset beyond the elements of earlier draws.
///
/// Order: enqueued on the compute stream of the device; the host does not block.
/// Throws:
/// - ContextError (kWrongContext) if no device is current and no placement is given;
/// - InvalidArgumentError (kUnknownDevice) for a placement without a device;
/// - DeviceError (kOutOfMemory).
namespace belfry {

/// Uniform in [0, 1).
template <FloatingElement T = float>
Tensor<T> random_uniform(Shape shape, std::uint64_t seed, std::uint64_t offset, Placement placement,
                         CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_random(dtype_of<T>(), std::move(shape),
                                         {Distribution::kUniform, seed, offset}, placement, site));
}
template <FloatingElement T = float>
Tensor<T> random_uniform(Shape shape, std::uint64_t seed, std::uint64_t offset = 0,
                         CallSite site = CallSite::here()) {
  return random_uniform<T>(std::move(shape), seed, offset, current_placement(site), site);
}

/// Normal with mean 0 and variance 1.
template <FloatingElement T = float>
Tensor<T> random_normal(Shape shape, std::uint64_t seed, std::uint64_t offset, Placement placement,
                        CallSite site = CallSite::here()) {
  return Tensor<T>(detail::launch_random(dtype_of<T>(), std::move(shape),
                                         {Distribution::kNormal, seed, offset}, placement, site));
}
template <FloatingElement T = float>
Tensor<T> random_normal(Shape shape, std::uint64_t seed, std::uint64_t offset = 0,
                        CallSite site = CallSite::here()) {
  return random_normal<T>(std::move(shape), seed, offset, current_placement(site), site);
}

}  // namespace belfry
