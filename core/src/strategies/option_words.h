// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/strategy_core.h"

#include <string>
#include <string_view>

namespace belfry::detail {

/// The options that all processes of a strategy have in common, in words. `algorithm` is the name
/// of the algorithm of reductions.
std::string option_words(const StrategyOptions& options, std::string_view algorithm,
                         const Backend& backend);

/// Compares the options of a `configure` between processes, if there are several. Order: blocks the
/// host until all processes have called. Throws: InvalidArgumentError (kInvalidArgument) in every
/// process if options differ; MergeMismatchError, ProcessLostError.
void require_equal_options(StrategyCore& core, const StrategyOptions& options, CallSite site);

}  // namespace belfry::detail
