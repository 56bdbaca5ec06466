// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace belfry::bugs {

/// Runs a program once, with its replicas on threads: `number` and `mutant` or `twin`. Errors of
/// belfry are outcomes. Returns the exit status.
int run_on_threads(int number, const std::string& which);

/// Prints which programs end with a failure when `self` runs each in a process, on threads: in a
/// build with ThreadSanitizer, the programs with a reported data race.
void print_threads_table(const std::string& self);

}  // namespace belfry::bugs
