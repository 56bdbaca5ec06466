// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::testing {

/// The values at the end of a program, and the text of the exception that ended its run; empty if
/// none did.
using ProgramOutcome = std::pair<std::vector<double>, std::string>;

}  // namespace belfry::sim::testing
