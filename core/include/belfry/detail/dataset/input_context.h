// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <cstdint>
#include <string>

namespace belfry {

/// The argument of an input function: the part of the data that the function should return.
struct InputContext {
  int num_input_pipelines = 1;   ///< The number of input functions of the program: the workers.
  int input_pipeline_id = 0;     ///< The number of this input function, from 0.
  int num_replicas_in_sync = 1;  ///< Replicas in a step, over all workers.

  /// The examples of each replica in a batch of `global_batch`.
  /// Throws: InvalidArgumentError (kInvalidArgument) unless the replicas divide the batch evenly.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch,
                                          CallSite site = CallSite::here()) const;
};

/// `input pipeline 0 of 2, 4 replicas in sync`.
std::string to_string(const InputContext& context);

/// The argument of a function that makes a value for each replica.
struct ValueContext {
  int replica_id = 0;            ///< The replica that gets the value.
  int num_replicas_in_sync = 1;  ///< The replicas of the strategy.
};

/// `replica 1 of 4`.
std::string to_string(const ValueContext& context);

namespace detail {
template <>
inline constexpr bool kPrints<InputContext> = true;
template <>
inline constexpr bool kPrints<ValueContext> = true;
}  // namespace detail

}  // namespace belfry
