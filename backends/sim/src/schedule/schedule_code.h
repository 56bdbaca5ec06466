// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/schedule.h"

#include <string>

namespace belfry::sim {

/// The schedule as an expression that compiles, for the texts of options.
std::string schedule_code(const Schedule& schedule);

}  // namespace belfry::sim
