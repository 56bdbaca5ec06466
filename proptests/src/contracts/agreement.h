// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <functional>

namespace belfry::testing {

/// Runs a case of a property in each process, and compares the ends: if the case fails in any
/// process, the case fails in all, with the mistake of the first process with a mistake.
/// Throws: RapidCheck's failure; ProcessLostError.
void agree_on_case(ProcessGroup& group, const std::function<void()>& run_case);

}  // namespace belfry::testing
