// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "belfry/tensor.h"

#include <algorithm>
#include <cstddef>

namespace belfry {

/// Storage on one device for the results of one reduction. Small results share pages, since an
/// allocation takes longer than the reduction of a small tensor. Pages are not large: each is kept
/// as long as any of its tensors.
class ResultPages {
 public:
  /// `small_bytes`: the sum of `stride_of` over all results.
  ResultPages(Placement place, std::size_t small_bytes)
      : place_(place), device_(&device_of(place)), ahead_(small_bytes) {}

  const Placement& place() const { return place_; }
  Device& device() const { return *device_; }
  /// The bytes of a page that a result takes: 0 for a large result, which has its own storage.
  static std::size_t stride_of(std::size_t bytes) {
    return bytes > kSmall ? 0 : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  AnyTensor allocate(DType dtype, const Shape& shape) {
    const auto count = static_cast<std::size_t>(shape.count());
    const std::size_t stride = count > kSmall ? 0 : stride_of(count * size_of(dtype));
    const bool is_last = page_ == nullptr && ahead_ <= stride;
    if (stride == 0 || is_last) return AnyTensor::allocate(dtype, shape, place_);
    if (page_ == nullptr || used_ + stride > page_->bytes()) turn_page(stride);
    AnyTensor result({page_, used_, count, dtype}, shape, place_);
    used_ += stride;
    ahead_ -= std::min(ahead_, stride);
    return result;
  }

 private:
  static constexpr std::size_t kAlignment = 256;  // As allocations of devices.
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kPage = 65536;

  void turn_page(std::size_t least) {
    page_ = device_->allocate(std::max(least, std::min(ahead_, kPage)), device_->compute_stream());
    used_ = 0;
  }

  Placement place_;
  Device* device_;
  std::size_t ahead_;
  std::size_t used_ = 0;
  BufferPtr page_;
};

}  // namespace belfry
