// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/explore.h"

#include <functional>

namespace belfry::testing {

/// Calls `call`. Draws of RapidCheck meanwhile throw a ContextError (kWrongContext): RapidCheck
/// gives the runs of a body different values. The verdict names the first draw.
void refuse_draws(const std::function<void()>& call);

/// Programs with this header refuse draws in bodies of sim::explore (SEM-193).
inline const bool kRefusesDraws = (sim::detail::around_body = &refuse_draws) != nullptr;

}  // namespace belfry::testing
