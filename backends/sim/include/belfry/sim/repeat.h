// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/backend.h"

#include <functional>

namespace belfry::sim {

/// Runs `program` twice, on fresh backends with the same options, and compares the logs operation
/// by operation (SEM-70). The logs have digests of all data written on devices and of nests on the
/// host; host data of types that are no nests is not compared.
/// Throws: InvalidArgumentError (kNotDeterministic) with the first operation that differs;
/// exceptions of `program`.
void repeat_and_compare(const Options& options, const std::function<void(Backend&)>& program,
                        CallSite site = CallSite::here());

}  // namespace belfry::sim
