// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reduce-scatters and exchanges of tensors by communicators.
#include "belfry/backend/device.h"
#include "belfry/cross_device_ops.h"
#include "belfry/detail/strategy_reductions.h"
#include "collectives/run_in_order.h"

#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace belfry::detail {

Communicator* StrategyReductions::native_communicator(DType dtype, const Participants& present,
                                                      bool is_of_processes) {
  if (dynamic_cast<NativeAllReduce*>(&algorithm()) == nullptr) return nullptr;
  Communicator* communicator = nullptr;
  if (is_of_processes) {
    if (is_native() && present.is_all()) communicator = process_communicator_.get();
  } else {
    // Replicas of other processes have no devices here.
    for (int i = 0; i < present.count(); ++i) {
      if (!own_.has(present.id(i))) return nullptr;
    }
    ReplicaDevices& devices = algorithm_ == nullptr ? joined_by(present) : devices_;
    if (devices.size() == present.count()) communicator = devices.communicator();
  }
  if (communicator == nullptr || !communicator->supports(dtype)) return nullptr;
  return !order_ || *order_ == communicator->order() ? communicator : nullptr;
}

std::vector<AnyTensor> StrategyReductions::reduce_scatter(Communicator& communicator, ReduceOp op,
                                                          std::span<const AnyTensor> slices,
                                                          std::span<const std::size_t> counts) {
  std::vector<AnyTensor> results;
  std::vector<CollectivePart> parts;
  for (std::size_t member = 0; member < slices.size(); ++member) {
    const AnyTensor& own = slices[member];
    const auto rank = static_cast<std::size_t>(communicator.local_ranks()[member]);
    const Shape shape{static_cast<std::int64_t>(counts[rank])};
    results.push_back(AnyTensor::allocate(own.dtype(), shape, own.placement()));
    parts.push_back(
        {own.view(), results.back().view(), &device_of(own.placement()).communication_stream()});
  }
  const bool is_empty = std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == 0;
  if (!is_empty) {
    run_in_order(
        communicator,
        {.kind = CollectiveKind::kReduceScatter, .parts = parts, .op = op, .counts = counts});
  }
  return results;
}

void StrategyReductions::exchange(std::span<const Transfer> transfers) {
  std::vector<CollectivePart> parts;
  for (int i = 0; i < own_.count(); ++i) {
    parts.push_back({{}, {}, &devices_.device(own_.id(i)).communication_stream()});
  }
  run_in_order(*process_communicator_,
               {.kind = CollectiveKind::kExchange, .parts = parts, .transfers = transfers});
}

}  // namespace belfry::detail
