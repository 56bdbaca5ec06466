// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/compared_body.h"
#include "watched_run.h"

#include <functional>

namespace belfry::testing {

/// Carries out a body with the functions of a replica and returns the values of the run. Exceptions
/// of the first run leave the function; exceptions of later runs become `WatchedRun::thrown`.
using RunWithFunctions = std::function<WatchedRun(int functions_of)>;

/// Compares runs with the functions of each of `replicas`, as `compare_functions` documents.
/// `body` has the results of the first and of the last call of `run`.
void compare_runs(int replicas, const ComparedBody& body, const RunWithFunctions& run,
                  CallSite site);

}  // namespace belfry::testing
