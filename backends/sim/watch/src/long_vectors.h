// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_watcher.h"

#include <string>
#include <vector>

namespace belfry::sim::watch {

/// Whether a watched function has accesses of 32 bytes or more, which clang reports by their first
/// byte alone.
extern bool are_there_long_vectors;

/// Forgets which functions replicas have run.
void forget_long_vectors();

/// Notes an access by the code at `pc`, if a replica runs and the access may be of 32 bytes.
void note_long_vector(const void* pc);

/// A sentence for each function with accesses of 32 bytes or more of which a replica has run an
/// access.
std::vector<std::string> long_vectors();

}  // namespace belfry::sim::watch
