// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>

namespace belfry {

/// What an input function is told: which part of the data is wanted of it.
struct InputContext {
  int num_input_pipelines = 1;   ///< How many input functions feed one program: the workers.
  int input_pipeline_id = 0;     ///< Which of them this one is.
  int num_replicas_in_sync = 1;  ///< Replicas that take a step together, over all workers.

  /// The examples each replica gets of a batch of `global_batch`.
  /// Throws: InvalidArgumentError (kInvalidArgument) when it does not come out even.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch,
                                          CallSite site = CallSite::here()) const;
};

/// What a function that makes a value for each replica is told.
struct ValueContext {
  int replica_id = 0;
  int num_replicas_in_sync = 1;
};

}  // namespace belfry
