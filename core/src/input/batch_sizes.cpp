// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/readers.h"
#include "belfry/distributed_dataset.h"

#include <algorithm>
#include <cstddef>

namespace belfry {

// Worker 0's list has the larger sizes first. The list of each later worker is rotated by the
// number of replicas of a worker: in each step all workers together go once through the list. For a
// batch of 10 and 2 workers of 2 replicas:
//
//               step 1    step 2
//   worker 0     3 3       2 2
//   worker 1     2 2       3 3
std::vector<std::int64_t> batch_sizes_for_worker(std::int64_t global_batch, int num_workers,
                                                 int replicas_per_worker, int worker,
                                                 CallSite site) {
  detail::require_at_least(1, global_batch, "the size of a batch", site);
  detail::require_at_least(1, replicas_per_worker, "the replicas of a worker", site);
  detail::require_shard(num_workers, worker, site);
  const std::int64_t replicas = std::int64_t{num_workers} * replicas_per_worker;
  const std::int64_t larger = global_batch % replicas;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(replicas), global_batch / replicas);
  for (std::int64_t i = 0; i < larger; ++i) sizes[static_cast<std::size_t>(i)] += 1;
  const std::ptrdiff_t turn = std::ptrdiff_t{worker} * replicas_per_worker;
  std::ranges::rotate(sizes, sizes.begin() + turn);
  return sizes;
}

}  // namespace belfry
