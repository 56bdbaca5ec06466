// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/part_of.h"
#include "belfry/call_site.h"
#include "belfry/gradient_buckets.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace belfry {

/// The gradient of a parameter; an empty tensor for a skipped parameter.
struct Arrival {
  std::size_t parameter;
  AnyTensor gradient;
  CallSite site;
};

/// Gradients of an element type, reduced as a single tensor.
struct BucketPack {
  std::vector<std::size_t> arrivals{};  // The places in the order of the step.
  AnyTensor tensor{};
  std::size_t memory = 0;  // The place of the memory, for several gradients.
};

/// The gradients of a replica.
struct alignas(64) GradientBuckets::Side {
  std::vector<Arrival> arrivals{};   // The gradients of the step, in the order of the replica.
  std::size_t open = 0;              // The first arrival in the open bucket.
  std::size_t open_bytes = 0;        // The bytes of the open bucket.
  std::size_t bucket = 0;            // The number of the open bucket.
  int round = 0;                     // The number of the round.
  std::vector<int> rounds{};         // The rounds with a gradient or a skip, by parameter.
  std::vector<AnyTensor> sums{};     // The gradients of earlier rounds, by parameter.
  std::vector<BucketPack> packs{};   // The packs of the closed bucket.
  std::vector<AnyTensor> memory{};   // The packs of earlier steps, in their order.
  std::size_t used_memory = 0;       // The number of packs of the step.
  std::vector<AnyTensor> results{};  // The reduced gradients, by parameter.

  void begin_step(std::size_t parameters) {
    arrivals.clear();
    open = open_bytes = bucket = used_memory = 0;
    round = 0;
    rounds.assign(parameters, 0);
    sums.assign(parameters, {});
    results.assign(parameters, {});
    packs.clear();
  }

  // Makes the results parts of the packs. The memory stays for the next step.
  void take_results() {
    for (BucketPack& pack : packs) {
      std::size_t offset = 0;
      for (const std::size_t i : pack.arrivals) {
        const AnyTensor gradient = std::exchange(arrivals[i].gradient, {});
        const std::size_t count = gradient.view().count;
        results[arrivals[i].parameter] = AnyTensor(part_of(pack.tensor.view(), offset, count),
                                                   gradient.shape(), pack.tensor.placement());
        offset += count;
      }
      if (pack.arrivals.size() > 1) memory[pack.memory] = std::move(pack.tensor);
    }
    packs.clear();
  }

  // Gives a pack the memory of an earlier step, or new memory.
  void find_memory(BucketPack& pack, std::int64_t count, Placement place) {
    if (used_memory == memory.size()) memory.emplace_back();
    pack.memory = used_memory++;
    AnyTensor kept = std::exchange(memory[pack.memory], {});
    const DType dtype = pack.tensor.dtype();
    const bool fits =
        !kept.empty() && !kept.is_shared() && kept.dtype() == dtype && kept.shape() == Shape{count};
    pack.tensor = fits ? std::move(kept) : AnyTensor::allocate(dtype, Shape{count}, place);
  }
};

}  // namespace belfry
