// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/communicator.h"
#include "belfry/nest.h"
#include "collectives/order_after.h"
#include "collectives/result_pages.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace belfry {

/// Reductions of leaves of which every part has a tensor, some at a time.
class TensorReductions {
 public:
  /// `pages` are on the devices of the parts.
  TensorReductions(std::span<const std::vector<LeafRef>> parts, std::span<ResultPages> pages)
      : parts_(parts), pages_(pages) {}

  /// Finds room for the results.
  void prepare(std::span<const std::size_t> leaves) {
    collectives_.clear();
    results_.clear();
    collectives_.reserve(leaves.size() * parts_.size());
    results_.reserve(leaves.size() * parts_.size());
    for (const std::size_t leaf : leaves) {
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        AnyTensor& tensor = *parts_[part][leaf].tensor;
        ResultPages& pages = pages_[part];
        if (tensor.placement() != pages.place()) tensor = tensor.copy_to(pages.place());
        const BufferView& input = tensor.view();
        // The result overwrites an input with storage of its own: the fastest form.
        results_.push_back(tensor.is_shared() ? pages.allocate(tensor.dtype(), tensor.shape())
                                              : tensor);
        collectives_.push_back(
            {input, results_.back().view(), &pages.device().communication_stream()});
      }
    }
  }
  /// One after another, each of as many parts.
  std::span<const CollectivePart> collectives() const { return collectives_; }
  void put_results(std::span<const std::size_t> leaves) {
    auto result = results_.begin();
    for (const std::size_t leaf : leaves) {
      for (const auto& part : parts_) *part[leaf].tensor = std::move(*result++);
    }
  }

  /// Communication streams wait for the work that made the inputs.
  void follow_inputs() {
    for (const ResultPages& pages : pages_) {
      Device& device = pages.device();
      order_after(device.communication_stream(), device.compute_stream(), device);
    }
  }
  /// Compute streams wait for the collectives.
  void precede_later_work() {
    for (const ResultPages& pages : pages_) {
      Device& device = pages.device();
      order_after(device.compute_stream(), device.communication_stream(), device);
    }
  }

 private:
  std::span<const std::vector<LeafRef>> parts_;
  std::span<ResultPages> pages_;
  std::vector<CollectivePart> collectives_;
  std::vector<AnyTensor> results_;
};

}  // namespace belfry
