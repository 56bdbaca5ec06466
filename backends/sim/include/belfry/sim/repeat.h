// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/backend.h"

#include <functional>

namespace belfry::sim {

/// Runs `program` twice, each time on a fresh backend of the same options (with everything it
/// writes recorded, on devices and in nests on the host), and compares what happened, operation by
/// operation (SEM-70). Host data of types that are no nests is not seen.
/// Throws: InvalidArgumentError (kNotDeterministic) with the first operation that differs; whatever
/// `program` throws.
void repeat_and_compare(const Options& options, const std::function<void(Backend&)>& program,
                        CallSite site = CallSite::here());

}  // namespace belfry::sim
