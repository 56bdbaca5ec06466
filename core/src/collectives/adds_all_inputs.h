// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/planned_all_reduce.h"

#include <cstddef>

namespace belfry {

/// Whether a sum of a valid plan adds the inputs of all members at once: the result of its chunks.
inline bool adds_all_inputs(const ReductionPlan& plan, const ReductionPlan::Sum& sum) {
  return sum.terms.size() == static_cast<std::size_t>(plan.members);
}

}  // namespace belfry
