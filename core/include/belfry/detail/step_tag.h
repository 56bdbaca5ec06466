// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/strategy/run_options.h"
#include "belfry/strategy_hooks.h"

namespace belfry::detail {

/// The tag of a merge, as the first participating replica names the merge: valid until the hook
/// returns. Null for a run, and for a merge without a tag.
const MergeTag* tag_of(const StrategyStep& step);

}  // namespace belfry::detail
