// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <vector>

namespace belfry {

/// How a global batch is shared out: one size for each replica of each worker, in the order in
/// which worker `worker` uses them, over and over (SEM-95). They add up to `global_batch` and
/// differ by at most 1. Every worker reads a share of the data of its own; in each step the sizes
/// that all workers use add up to `global_batch` too. Throws: InvalidArgumentError
/// (kInvalidArgument) when a count is below 1 or there is no such worker.
std::vector<std::int64_t> batch_sizes_for_worker(std::int64_t global_batch, int num_workers,
                                                 int replicas_per_worker, int worker,
                                                 CallSite site = CallSite::here());

}  // namespace belfry
