// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_state.h"

namespace belfry::cuda {

Statistics Counters::snapshot() const {
  return {.kernel_launches = kernel_launches.load(),
          .local_collectives = local_collectives.load(),
          .nccl_collectives = nccl_collectives.load(),
          .copies = copies.load(),
          .host_writes = host_writes.load(),
          .host_reads = host_reads.load(),
          .allocations = allocations.load(),
          .frees = frees.load(),
          .event_records = event_records.load(),
          .event_waits = event_waits.load()};
}

}  // namespace belfry::cuda
