// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/backend.h"

#include <functional>

namespace belfry::sim {

/// Checks that a program does the same twice: runs it on two fresh backends with the same options,
/// and compares the logs operation by operation, with all data written on devices and all nests on
/// the host (SEM-70). Host data of other types is not compared.
/// Order: blocks the caller for two runs.
/// Throws: InvalidArgumentError (kNotDeterministic) with the first operation that differs;
/// exceptions of `program`.
void repeat_and_compare(const Options& options, const std::function<void(Backend&)>& program,
                        CallSite site = CallSite::here());

}  // namespace belfry::sim
