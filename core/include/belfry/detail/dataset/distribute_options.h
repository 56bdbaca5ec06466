// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/compiler.h"
#include "belfry/detail/prints.h"

#include <cstdint>
#include <string>

namespace belfry {

/// The treatment of a partial step: the data end before every replica has its share (SEM-96).
enum class EndOfData : std::uint8_t {
  kDropPartialStep = 1,  ///< The step is left out, with its examples.
  kPadWithEmpties,       ///< Replicas without examples run on an empty batch.
  kMaskReplicas,         ///< Replicas without examples take no part in the step.
};

/// `drop partial step`, `pad with empties` or `mask replicas`.
std::string to_string(EndOfData policy);

/// The use of an element of a distributed dataset.
enum class ElementUse : std::uint8_t {
  kGlobalBatch,  ///< Examples for all replicas: a batch to be split.
  kPerReplica,   ///< Examples for a single replica: each replica takes the next element.
};

/// `global batch` or `per replica`.
std::string to_string(ElementUse use);

enum class Remainder : std::uint8_t;
/// `keep` or `drop`.
std::string to_string(Remainder remainder);

/// How the rows of global batches are split into the shares of replicas.
enum class BatchSplit : std::uint8_t {
  kEvenSizes,  ///< If the batch size is known, by sizes that differ by at most 1 (SEM-95).
  kEachBatch,  ///< Each batch in parts of b / N rows, rounded up, for all workers (SEM-142).
};

/// `even sizes` or `each batch`.
std::string to_string(BatchSplit split);

/// The options of a distributed dataset: `{.end_of_data = EndOfData::kMaskReplicas}` for a single
/// strategy.
struct DistributeOptions {
  EndOfData end_of_data;                           ///< Required: there is no default.
  ElementUse elements = ElementUse::kGlobalBatch;  ///< The use of an element.
  /// The number of steps that are read ahead, at least 0. Tensors of these steps are copied to the
  /// devices while earlier steps are computed, and take memory there. Results stay the same.
  int prefetch = 0;
  int num_workers = 1;  ///< Strategies like this one; each reads a share of the data.
  int worker = 0;       ///< The number of this worker, from 0.
  /// How a global batch is split. TensorFlow uses even sizes if automatic sharding is off, and by
  /// default splits each batch if the data are in memory. With `kEachBatch` the dataset of every
  /// worker holds the data of all workers.
  BatchSplit split = BatchSplit::kEvenSizes;
  /// Whether all of `num_workers` strategies take equally many steps: the dataset of every worker
  /// holds the data of all workers, and each strategy takes its shares of each step (SEM-95).
  bool equal_steps = false;
};

/// The options as an initializer that compiles, without members of their usual value:
/// `{.end_of_data = belfry::EndOfData::kMaskReplicas, .prefetch = 2}`.
std::string to_string(const DistributeOptions& options);

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

}  // namespace belfry
