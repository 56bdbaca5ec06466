// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace belfry::bugs {

/// Runs a program once, with its replicas on `threads` or `fibers`: `number`, and `mutant` or
/// `twin`. Errors of belfry are outcomes. Returns the exit status.
int run_alone(int number, const std::string& which, const std::string& carrier);

/// Prints the number of failures of each program, when `self` runs the program in processes of its
/// own, eight times on threads and once on fibers: in a build with ThreadSanitizer, the runs with a
/// reported data race.
void print_threads_table(const std::string& self);

}  // namespace belfry::bugs
