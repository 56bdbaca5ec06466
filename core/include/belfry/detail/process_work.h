// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/strategy_core.h"

#include <string>

namespace belfry::detail {

/// Work that process 0 does for all processes.
struct ProcessWork {
  const char* what;    ///< The verb, for messages.
  std::string object;  ///< The object of the work: a path. Equal in all processes.
  CallSite site;
};

/// The result of `work`, which is called in process 0 alone, in every process; without several
/// processes, the result of the call. Order: blocks the host until all processes have called and
/// the work is done. Throws: in process 0 the exceptions of `work`; in the others PeerFailedError
/// (kPeerFailed) with the text of the exception; InvalidArgumentError (kInvalidArgument) in every
/// process if objects differ, before the work; MergeMismatchError, ProcessLostError.
Bytes done_by_first_process(StrategyCore& core, const ProcessWork& task, FunctionRef<Bytes()> work);

}  // namespace belfry::detail
