// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"

namespace belfry {

/// Runs a kernel on host memory: the reference implementation, whose bits every backend reproduces.
/// Operations and their order are fixed (see `element_ops.h`), so results are the same on every
/// machine and compiler. Blocks until done.
void run_on_host(const KernelCall& call);

/// Tuning of the host reduction; the default suits a last-level cache of 32 MiB.
struct HostReduceTuning {
  std::size_t non_temporal_bytes = std::size_t{20} << 20;  ///< Footprint from which stores stream.
};

/// The n-way reduction alone, with its tuning exposed for benchmarks.
void reduce_on_host(const KernelCall& call, const HostReduceTuning& tuning);

}  // namespace belfry
