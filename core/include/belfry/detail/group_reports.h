// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <exception>
#include <string>
#include <vector>

namespace belfry::detail {

// The reports of all kinds of groups have the same texts.

/// The calls of the processes, in order of rank, differ: `gather`, `broadcast from process 1`.
ErrorReport calls_differ(const std::vector<std::string>& calls);
/// A process has left the group; `reason` may be empty.
ErrorReport process_left(int rank, const std::string& reason);
/// Throws the cause before its consequences: the first exception that is neither a ProcessLostError
/// nor a PeerFailedError, or else the first exception. `thrown` has an entry for each process, null
/// for a process that threw nothing.
void rethrow_cause(const std::vector<std::exception_ptr>& thrown);
/// `process 1`, `processes 0,2`.
std::string processes_text(const std::vector<int>& ranks);
/// `replica 1`, `replicas 0,2`.
std::string replicas_text(const std::vector<int>& ids);

}  // namespace belfry::detail
