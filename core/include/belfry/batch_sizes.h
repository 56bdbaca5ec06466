// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <vector>

namespace belfry {

/// The sizes of the shares of a global batch: one size for each replica of each worker, in the
/// order in which worker `worker` uses the sizes, cyclically (SEM-95). The sizes add up to
/// `global_batch` and differ by at most 1. Every worker reads its own share of the data; in each
/// step the sizes used by all workers together add up to `global_batch` too. Throws:
/// InvalidArgumentError (kInvalidArgument) if a count is below 1, or if `worker` is out of range.
std::vector<std::int64_t> batch_sizes_for_worker(std::int64_t global_batch, int num_workers,
                                                 int replicas_per_worker, int worker,
                                                 CallSite site = CallSite::here());

}  // namespace belfry
