// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/options.h"
#include "belfry/testing/compared_body.h"

namespace belfry::testing {

/// compare_functions for a body of any type. `body` keeps the results of its runs.
void compare_functions_of(ComparedBody& body, const sim::Options& options, CallSite site);

/// Finds merge functions that depend on the replica that passes them, through a captured value that
/// differs between replicas: merges use the function of replica 0 alone (SEM-136).
///
/// `body` makes a strategy on a backend and runs programs with the strategy. Each run of `body` has
/// a fresh backend with the same options: two runs take replica 0's functions, and for each other
/// replica a further run takes the functions of this replica. The check compares the results and
/// exceptions of `body`, and after each merge the values in the log: host values of nests, host
/// reads, and data that work on devices writes first. Host values of all other types are compared
/// if `body` returns them. The result of `body` is void or comparable with `==`; floating-point
/// results with equal bits are equal.
///
/// All runs have the same schedule, on fibers. `options.functions_of` is ignored, and the log keeps
/// at least 2^20 operations.
///
/// Example:
///   testing::compare_functions({.devices = 4}, [](sim::Backend& backend) {
///     MirroredStrategy strategy{backend};
///     return train(strategy);
///   });
///
/// Throws: InvalidArgumentError (kCapturedValue) with the first merge after which runs differ, the
/// line of the merge, and the replica; (kNotDeterministic) if the runs with replica 0's functions
/// differ; (kInvalidArgument) for fewer than two devices, a carrier other than fibers, a replayed
/// schedule, or a log longer than its limit; exceptions of the first run of `body`.
template <class Body>
void compare_functions(const sim::Options& options, const Body& body,
                       CallSite site = CallSite::here()) {
  BodyOf<Body> compared(body);
  compare_functions_of(compared, options, site);
}

}  // namespace belfry::testing
