// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/process_group.h"

#include <mpi.h>

namespace belfry::mpi {

/// A duplicate of `communicator`, with errors returned. An exchange: blocks the host until all
/// processes have called.
/// Throws: InvalidArgumentError (kInvalidArgument) for MPI_COMM_NULL and for communicators between
/// two groups; ProcessLostError (kProcessLost) after the deadline. MPI does not tell which process
/// was late.
MPI_Comm duplicate(MPI_Comm communicator, Deadline deadline, CallSite site);

}  // namespace belfry::mpi
