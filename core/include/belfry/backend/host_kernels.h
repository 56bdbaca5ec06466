// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belfry {

/// Runs a kernel on host memory: the reference implementation. Every backend reproduces the bits.
/// Operations and their order are fixed (see `element_ops.h`): results are the same on every
/// machine and compiler. Blocks until done.
/// Throws: for kUser, the exceptions of the body.
void run_on_host(const KernelCall& call);

/// The first position in the index of a kGatherRows or kScatterRows call with an index outside the
/// table; -1 if all are inside, and for other kinds. Kernels skip bad positions; a backend with
/// time for the check reports them.
std::int64_t first_bad_index(const KernelCall& call);

/// The operation of a kernel, for messages: `multiply`, `exp`, the name of a user's kernel; else
/// the kind. Lives as long as the program.
std::string_view operation_name(const Kernel& kernel);

/// Tuning of the host reduction; results do not depend on the tuning. The default suits a
/// last-level cache of 32 MiB.
struct HostReduceTuning {
  std::size_t non_temporal_bytes = std::size_t{8} << 20;  ///< Least footprint to stream stores.
  std::size_t fetched_bytes = std::size_t{1} << 20;       ///< Least footprint to fetch ahead.
  bool wide_vectors = true;                               ///< If the processor has wide vectors.
};

/// The tuning for a last-level cache of `bytes`; 0: unknown size.
HostReduceTuning reduce_tuning_for(std::size_t bytes);

/// The n-way reduction alone, tuned for this machine.
void reduce_on_host(const KernelCall& call);
/// The same as a part of work over `bytes` of memory: the size of all of the work decides whether
/// a cache holds the operands.
void reduce_on_host(const KernelCall& call, std::size_t bytes);
/// The same, with a given tuning, for benchmarks.
void reduce_on_host(const KernelCall& call, const HostReduceTuning& tuning);

}  // namespace belfry
