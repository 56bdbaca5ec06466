// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <functional>
#include <string>

namespace belfry::testing {

/// Draws a case, and returns the work of a process in the case. Exceptions of the work fail the
/// case, as RapidCheck's assertions do.
using ProcessProperty = std::function<std::function<void()>()>;

/// Checks a property in all processes of `group`, which make the call together: all draw the same
/// cases, and a case fails in all processes if the work fails in any. The text is empty if all
/// cases succeeded, else the mistake and the shrunk case, equal in all processes.
std::string mistake_over_processes(ProcessGroup& group, const std::string& name, int cases,
                                   const ProcessProperty& property);

}  // namespace belfry::testing
