// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace belfry::sim::watch {

/// Forgets which unwatched functions replicas have called by pointers.
void forget_pointer_calls();

/// The addresses of the functions outside watched code that watched code of replicas has called by
/// pointers: virtual functions, deleters, targets of std::function. On x86-64 alone.
std::vector<const void*> pointer_calls();
/// Whether there were more functions than pointer_calls() has.
bool are_pointer_calls_missing();

/// Whether `code` is watched code, or the code in front of an unwatched function.
bool is_watched_code(const void* code);

/// Whether no note is needed of a call of the function `name`, a name of the linker: belfry_watch()
/// knows what the function does, or the target vouches for the function.
bool is_known_function(const std::string& name);

}  // namespace belfry::sim::watch
