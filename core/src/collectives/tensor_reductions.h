// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/access_order.h"
#include "belfry/backend/backend.h"
#include "belfry/backend/device.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"
#include "collectives/order_after.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

/// Tensors of all participating replicas on the way through reductions: finds memory for results,
/// orders streams, and replaces tensors by results.
class TensorReductions {
 public:
  /// `parts[i]` are the leaves of the i-th participating replica; `pages[i]` is on the device of
  /// that replica.
  TensorReductions(std::span<const std::vector<LeafRef>> parts, std::span<ResultPages> pages)
      : parts_(parts), pages_(pages) {}

  /// Moves the tensors of `leaves` to the devices of their replicas, and finds memory for the
  /// results.
  void prepare(std::span<const std::size_t> leaves) {
    collectives_.reserve(leaves.size() * parts_.size());
    results_.reserve(leaves.size() * parts_.size());
    for (const std::size_t leaf : leaves) {
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        prepare_part(*parts_[part][leaf].tensor, pages_[part]);
      }
    }
  }
  /// The prepared tensors, leaf after leaf, each with a part of every participating replica.
  std::span<const CollectivePart> collectives() const { return collectives_; }
  /// Replaces the tensors of `leaves`, the leaves of `prepare`, by the results.
  void put_results(std::span<const std::size_t> leaves) {
    auto result = results_.begin();
    for (const std::size_t leaf : leaves) {
      for (const auto& part : parts_) *part[leaf].tensor = std::move(*result++);
    }
  }

  /// Later work of communication streams starts after the present work of compute streams, and
  /// after the pending accesses to the prepared tensors.
  void follow_inputs() {
    ends_.reserve(pages_.size());
    for (const ResultPages& pages : pages_) {
      Device& device = pages.device();
      order_after(device.communication_stream(), device.compute_stream(), device);
      ends_.push_back(std::make_shared<detail::StreamPoint>(device));
    }
    for (const CollectivePart& part : collectives_) {
      detail::order_read(*part.stream, part.input);
      detail::order_write(*part.stream, part.output);
    }
  }
  /// Leaves the accesses of the communication streams with the prepared tensors: later work that
  /// uses the tensors waits.
  void leave_accesses() {
    for (std::size_t part = 0; part < ends_.size(); ++part) {
      ends_[part]->set(pages_[part].device().communication_stream());
    }
    for (std::size_t i = 0; i < collectives_.size(); ++i) {
      const auto& [input, output, stream] = collectives_[i];
      const detail::StreamPointPtr& end = ends_[i % ends_.size()];
      detail::leave_write(output, end);
      if (input.buffer != output.buffer) detail::leave_read(input, end);
    }
  }
  /// After a failure: all later work of compute streams starts after the present work of
  /// communication streams.
  void precede_later_work() {
    for (const ResultPages& pages : pages_) {
      Device& device = pages.device();
      order_after(device.compute_stream(), device.communication_stream(), device);
    }
  }

 private:
  void prepare_part(AnyTensor& tensor, ResultPages& pages) {
    if (tensor.placement() != pages.place()) tensor = tensor.copy_to(pages.place());
    const BufferView& input = tensor.view();
    // An input whose storage nobody shares is overwritten: reductions in place are the fastest.
    const bool in_place = !tensor.is_shared();
    results_.push_back(in_place ? tensor : pages.allocate(tensor.dtype(), tensor.shape()));
    collectives_.push_back({input, results_.back().view(), &pages.device().communication_stream()});
  }

  std::span<const std::vector<LeafRef>> parts_;
  std::span<ResultPages> pages_;
  std::vector<CollectivePart> collectives_;
  std::vector<AnyTensor> results_;
  std::vector<std::shared_ptr<detail::StreamPoint>> ends_;  // Of each part.
};

}  // namespace belfry
