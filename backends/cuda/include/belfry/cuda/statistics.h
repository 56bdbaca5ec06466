// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"

#include <cstdint>
#include <string>

namespace belfry::cuda {

/// Counters of a backend's calls to its GPUs, since the construction. Tests can assert that kernels
/// and collectives really ran.
struct Statistics {
  std::uint64_t kernel_launches = 0;    ///< Including those inside local collectives.
  std::uint64_t local_collectives = 0;  ///< Calls run by kernels or copies on one GPU.
  std::uint64_t nccl_collectives = 0;   ///< Groups handed to NCCL.
  std::uint64_t copies = 0;             ///< Between device memories.
  std::uint64_t host_writes = 0;        ///< From host to device memory.
  std::uint64_t host_reads = 0;         ///< From device to host memory.
  std::uint64_t allocations = 0;        ///< Of device memory.
  std::uint64_t frees = 0;              ///< Of device memory.
  std::uint64_t event_records = 0;      ///< Records of events in streams.
  std::uint64_t event_waits = 0;        ///< Waits of streams for events.

  /// Of both kinds.
  std::uint64_t collectives() const { return local_collectives + nccl_collectives; }
};

/// `kernel launches 4, local collectives 1, ...`: the counters that are not 0; `no calls`.
std::string to_string(const Statistics& statistics);

using belfry::operator<<;

}  // namespace belfry::cuda
