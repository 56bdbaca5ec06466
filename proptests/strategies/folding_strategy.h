// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategy.h"

#include <cstddef>
#include <vector>

namespace belfry::testing {

/// A correct strategy with its own reduction: copies tensors to the host and reduces there, without
/// a collective.
class FoldingStrategy final : public Strategy {
 public:
  FoldingStrategy(Backend& backend, const StrategyOptions& options)
      : Strategy(backend, options, CallSite::here()) {}

 private:
  void do_reduce(const ReduceCall& call) override {
    std::vector<std::vector<LeafRef>> parts(call.parts.begin(), call.parts.end());
    std::vector<std::vector<std::byte>> elements;
    for (std::vector<LeafRef>& part : parts) {
      for (LeafRef& leaf : part) {
        if (leaf.tensor == nullptr) continue;
        auto& read = elements.emplace_back(leaf.bytes());
        leaf.tensor->read(read.data());
        leaf.data = read.data();
        leaf.tensor = nullptr;
      }
    }
    Strategy::do_reduce({call.op, parts, call.everywhere, call.present});
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (std::size_t i = 0; i < parts[p].size(); ++i) {
        AnyTensor* tensor = call.parts[p][i].tensor;
        if (tensor == nullptr) continue;
        // Tensors are wanted in every part, host leaves may be in the first alone.
        const LeafRef& sum = parts[call.everywhere ? p : 0][i];
        *tensor = AnyTensor::from_host(sum.dtype, tensor->shape(), sum.data, tensor->placement());
      }
    }
  }
};

}  // namespace belfry::testing
