// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/verdict.h"

#include <string>
#include <vector>

namespace belfry::sim::testing {

/// The names of the conditions that `verdict` does not meet.
inline std::vector<std::string> broken_conditions(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const Condition& condition : verdict.report().conditions) {
    if (!condition.holds) names.push_back(condition.name);
  }
  return names;
}

}  // namespace belfry::sim::testing
