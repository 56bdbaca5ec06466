// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"

#include <cstddef>
#include <cstdint>

namespace belfry {

/// Runs a kernel on host memory: the reference implementation, whose bits every backend reproduces.
/// Operations and their order are fixed (see `element_ops.h`), so results are the same on every
/// machine and compiler. Blocks until done.
void run_on_host(const KernelCall& call);

/// The first position in the index of a kGatherRows or kScatterRows call that names no row; -1
/// if there is none, and for other kinds. Kernels pass such positions over; a backend that can
/// afford the look reports them.
std::int64_t first_bad_index(const KernelCall& call);

/// Tuning of the host reduction, which results do not depend on; the default suits a last-level
/// cache of 32 MiB.
struct HostReduceTuning {
  std::size_t non_temporal_bytes = std::size_t{8} << 20;  ///< Footprint from which stores stream.
  std::size_t fetched_bytes = std::size_t{1} << 20;       ///< From which inputs are fetched ahead.
  bool wide_vectors = true;                               ///< Where the processor has them.
};

/// For a last-level cache of `bytes`, or of unknown size: 0.
HostReduceTuning reduce_tuning_for(std::size_t bytes);

/// The n-way reduction alone, with its tuning exposed for benchmarks.
void reduce_on_host(const KernelCall& call, const HostReduceTuning& tuning);

}  // namespace belfry
