// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/readers.h"
#include "belfry/error.h"

#include <string>

namespace belfry {

std::int64_t InputContext::get_per_replica_batch_size(std::int64_t global_batch,
                                                      CallSite site) const {
  detail::require_at_least(1, num_replicas_in_sync, "the number of replicas", site);
  if (global_batch % num_replicas_in_sync != 0) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "a global batch of " + std::to_string(global_batch) + " does not come out even over " +
            std::to_string(num_replicas_in_sync) + " replicas",
        "use a multiple, or distribute_dataset, which shares out any size", site);
  }
  return global_batch / num_replicas_in_sync;
}

std::string to_string(const InputContext& context) {
  return "input pipeline " + std::to_string(context.input_pipeline_id) + " of " +
         std::to_string(context.num_input_pipelines) + ", " +
         std::to_string(context.num_replicas_in_sync) + " replicas in sync";
}

std::string to_string(const ValueContext& context) {
  return "replica " + std::to_string(context.replica_id) + " of " +
         std::to_string(context.num_replicas_in_sync);
}

}  // namespace belfry
