// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/dataset/dataset_position.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/dataset/recipe.h"
#include "belfry/detail/participants.h"

#include <cstdint>
#include <string>

namespace belfry::detail {

class StrategyCore;

/// How the data of processes belong together.
enum class DataComparison : std::uint8_t {
  kEqual,  ///< Every process has all data.
  kParts,  ///< Each process has a part: no two are equal.
  kNone,   ///< Input functions make the data.
};

/// The shares that a process takes from the steps of a dataset (SEM-185).
struct InputPart {
  /// Of a dataset for all processes, the shares of the own replicas; of a dataset for this process,
  /// all shares.
  Participants own;
  int shares = 1;         ///< The number of shares in a step that the process reads.
  bool is_whole = false;  ///< Whether the dataset is for all processes or workers.
  /// The share of replica 0, of a dataset for strategies with replicas of their own numbers.
  int first = 0;
  DataComparison comparison = DataComparison::kEqual;  ///< With the data of other processes.
  DataPart data{};                                     ///< The rows that the process reads.

  /// Whether the own replicas take a share, and the replica of such a share.
  bool has(int share) const { return !is_whole || own.has(share); }
  int replica_of(int share) const { return is_whole ? share - first : own.id(share); }
};

/// The part of this process. `is_made_here`: an input function made the dataset for this process.
/// Throws: InvalidArgumentError (kInvalidArgument) for options that name other workers than the
/// processes; UnsupportedError (kUnsupported) over several processes for parts of a dataset with
/// known batch sizes if processes have different numbers of replicas.
InputPart input_part(StrategyCore& core, const DistributeOptions& options, bool is_made_here,
                     CallSite site);

/// The argument of an input function: each process is an input pipeline. Throws: as input_part.
InputContext input_context(StrategyCore& core, const DistributeOptions& options, CallSite site);

/// The end of the data, as a step shows the end.
struct StepEnd {
  bool has_nothing = false;  ///< No replica has a share.
  bool is_partial = false;   ///< Some replica lacks its share, or a part of the share.
  /// Without a share, and without an earlier batch, an empty batch would have no structure.
  bool lacks_empty = false;
  bool takes_shares = true;  ///< False in a process without replicas that reads no data.
  RowsTaken taken{};         ///< By all replicas that read the data of this process.
};

/// The recipe that processes compare at the first step.
struct StepRecipe {
  std::string options;  ///< Equal in all processes.
  Recipe data;          ///< As `comparison` asks for.
  DataComparison comparison = DataComparison::kEqual;
  bool drops_partial = true;
  bool is_rest = false;  ///< The loop begins behind some rows.
};

/// The end for all processes: nothing is left if no process has a share, and a step is partial if
/// the step of any process is. `number` is that of the step, from 0; `recipe` is compared at step
/// 0. Without several processes: `own`. Order: blocks the host until all processes have read the
/// step. Throws: InvalidArgumentError (kInvalidArgument) in every process if numbers or recipes
/// differ, if a process that lacks an empty batch has nothing and another process has a share, or
/// if the first step is dropped for the lack of data of some process; PeerFailedError if reading
/// failed in another process; MergeMismatchError, ProcessLostError.
StepEnd agree_on_step(StrategyCore& core, StepEnd own, std::uint64_t number,
                      const StepRecipe& recipe, CallSite site);

}  // namespace belfry::detail
