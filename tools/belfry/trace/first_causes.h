// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/step_differences.h"

#include <cstddef>
#include <vector>

namespace belfry::tool {

/// The indices of the differences without an earlier cause among the differences.
/// A step follows from the steps in `after`, from the earlier steps of the agent, and from the work
/// behind the values of the step. Without any first cause, in a cycle, index 0.
std::vector<std::size_t> first_causes(const Trace& a, const Trace& b,
                                      const std::vector<StepDifference>& differences);

}  // namespace belfry::tool
