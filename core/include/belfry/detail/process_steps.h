// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/dataset/input_context.h"
#include "belfry/detail/participants.h"

#include <string>

namespace belfry::detail {

class StrategyCore;

/// The shares that a process takes from the steps of a dataset (SEM-185).
struct InputPart {
  /// Of a dataset for all processes, the shares of the own replicas; of a dataset for this process,
  /// all shares.
  Participants own;
  int shares = 1;         ///< The number of shares in a step that the process reads.
  bool is_whole = false;  ///< Whether the dataset is for all processes.

  /// The replica of a share.
  int replica_of(int share) const { return is_whole ? share : own.id(share); }
};

/// The part of this process. `is_made_here`: an input function made the dataset for this process.
/// Throws: InvalidArgumentError (kInvalidArgument) for options that name other workers than the
/// processes; UnsupportedError (kUnsupported) over several processes for masked replicas, and for
/// parts of a dataset with known batch sizes if processes have different numbers of replicas.
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
};

/// The end for all processes: nothing is left if no process has a share, and a step is partial if
/// the step of any process is. `recipe` describes the dataset, and is compared. Without several
/// processes: `own`. Order: blocks the host until all processes have read the step.
/// Throws: InvalidArgumentError (kInvalidArgument) in every process if recipes differ, or if a
/// process that lacks an empty batch has nothing and another process has a share; PeerFailedError
/// if reading failed in another process; MergeMismatchError, ProcessLostError.
StepEnd agree_on_step(StrategyCore& core, StepEnd own, const std::string& recipe, CallSite site);
/// Tells all processes, in place of agree_on_step, of the exception that is being handled.
void tell_failed_step(StrategyCore& core, CallSite site) noexcept;

}  // namespace belfry::detail
