// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"

#include <cstdint>
#include <string>

namespace belfry::cuda {

/// The calls of one verb.
struct VerbCounts {
  std::uint64_t calls = 0;       ///< The number of calls.
  std::uint64_t bytes = 0;       ///< Of the inputs on all devices of the process, in bytes.
  std::uint64_t host_waits = 0;  ///< How often the host waited for a device or for NCCL.

  bool operator==(const VerbCounts&) const = default;
};

/// `3 calls, 48 bytes, 1 wait of the host`.
std::string to_string(const VerbCounts& counts);

/// Counters of a backend's calls to its GPUs, since the construction. Tests can assert that kernels
/// and collectives really ran.
struct Statistics {
  std::uint64_t kernel_launches = 0;    ///< Including those inside local collectives.
  std::uint64_t local_collectives = 0;  ///< Calls run by kernels or copies on one GPU.
  std::uint64_t nccl_collectives = 0;   ///< Groups handed to NCCL.
  VerbCounts all_reduce{};              ///< Of a communicator, also inside other reductions.
  VerbCounts broadcast{};               ///< Of a communicator.
  VerbCounts all_gather{};              ///< Of a communicator.
  VerbCounts reduce_scatter{};          ///< Of a communicator.
  VerbCounts exchange{};                ///< Of a communicator: lists of sends and receives.
  VerbCounts copy{};                    ///< Between device memories.
  VerbCounts write{};                   ///< From host to device memory. Waits for room to stage.
  VerbCounts read{};                    ///< From device to host memory.
  VerbCounts synchronize{};             ///< Waits of the host for a stream, without bytes.
  std::uint64_t allocations = 0;        ///< Of device memory.
  std::uint64_t frees = 0;              ///< Of device memory.
  std::uint64_t event_records = 0;      ///< Records of events in streams.
  std::uint64_t event_waits = 0;        ///< Waits of streams for events.

  /// Of both kinds.
  std::uint64_t collectives() const { return local_collectives + nccl_collectives; }
};

/// `kernel launches 4; copy 2 calls, 16 bytes; ...`: the counters that are not 0; `no calls`.
std::string to_string(const Statistics& statistics);

using belfry::operator<<;

}  // namespace belfry::cuda
