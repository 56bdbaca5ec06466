// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <mpi.h>

#include <memory>

namespace belfry::mpi {

// MPI as a whole: start, end, and the objects in use until the end. A process has MPI once.
// Context: MPI's main thread.

/// Throws: ContextError (kGroupContext) if MPI is not started or has ended, if MPI's level is below
/// MPI_THREAD_FUNNELED, or on a thread other than MPI's main thread.
void require_mpi(CallSite site);
/// Starts MPI if MPI is not started. Throws: as require_mpi.
void start_mpi(int& argc, char**& argv, CallSite site);
/// Whether calls of MPI are possible now, on this thread.
bool is_mpi_usable() noexcept;

/// A group begins: MPI lasts at least as long.
void begin_group();
/// A group ends. If start_mpi has started MPI, no group is left, and the processes of every group
/// have taken leave, MPI ends.
void end_group(bool all_took_leave) noexcept;

/// Keeps an object that MPI may still use to the end of the process: messages underway, or the
/// place of a communicator that was not made in time.
void keep(std::shared_ptr<void> object);

/// Forked children do not get the socket: the socket ends with this process.
void keep_from_children(int socket);
/// The end of keep_from_children; whether this process has the socket, false in a child.
bool forget_socket(int socket) noexcept;

}  // namespace belfry::mpi
