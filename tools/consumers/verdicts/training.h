// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/tensor_ops.h>

#include <cstddef>
#include <numeric>
#include <vector>

using Batch = std::vector<float>;

/// The mean of the replica's share of a batch. Shares have equal sizes: the last examples of some
/// batches are in no share.
inline float mean_of_share(belfry::ReplicaContext& replica, const Batch& batch) {
  const auto size = static_cast<std::ptrdiff_t>(batch.size()) / replica.num_replicas();
  if (size == 0) return 0;
  const auto begin = batch.begin() + replica.replica_id() * size;
  return std::accumulate(begin, begin + size, 0.0F) / static_cast<float>(size);
}

/// A step of training: the weights of two elements lose the mean of the batch.
inline Batch train(belfry::Strategy& strategy, const Batch& batch) {
  auto weight = strategy.mirrored_variable([] { return belfry::Tensor<float>::full({2}, 8.0F); },
                                           {.aggregation = belfry::Aggregation::kMean});
  strategy.run([&](belfry::ReplicaContext& replica) {
    replica.assign_sub(weight, belfry::Tensor<float>::full({2}, mean_of_share(replica, batch)));
  });
  return strategy.read(weight).to_host();
}

/// A mistake: replicas write a captured total, whose digits are the order of the replicas.
inline int captured_total(belfry::Strategy& strategy) {
  int total = 0;
  strategy.run([&](belfry::ReplicaContext& replica) { total = 10 * total + replica.replica_id(); });
  return total;
}
