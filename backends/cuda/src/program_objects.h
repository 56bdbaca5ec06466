// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cuda/options.h"
#include "device.h"
#include "nccl_communicators.h"
#include "shared_state.h"

#include <nccl.h>

#include <optional>
#include <vector>

namespace belfry::cuda {

/// The place of communicators among the ranks of NCCL.
struct NcclRanks {
  int size = 0;   ///< The number of all ranks.
  int first = 0;  ///< The rank of the first communicator.
};

/// Checks the objects of the program's own in `options` against the GPU of each device.
/// Throws:
/// - InvalidArgumentError (kInvalidArgument): another number than the devices', an object of
///   another GPU, an object twice, ranks in another order than the devices, or memory from two
///   sources;
/// - DeviceError: CUDA or NCCL refuses an object.
void require_fitting(const Options& options, const std::vector<int>& gpus);

/// Whether the memory of GPUs comes from the program.
inline bool has_programs_memory(const Options& options) {
  return !options.memory_pools.empty() || options.allocator.allocate;
}

/// The ranks of communicators that have passed the check.
NcclRanks ranks_of(const std::vector<ncclComm_t>& communicators);

/// Communicators for `devices`: those of the program, if the program has communicators of these
/// devices and processes; else new ones.
/// Throws: InvalidArgumentError (kInvalidArgument) for ranks in another order than the processes;
/// UnsupportedError if launches block; DeviceError.
NcclCommunicators communicators_of(const SharedState& shared, const std::vector<Device*>& devices,
                                   const std::optional<NcclSpan>& span);

}  // namespace belfry::cuda
