// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::mpi {

/// Every call of MPI passes its status here. Throws: ProcessLostError (kProcessLost) with the text
/// of MPI for a status of an error: the group cannot be used afterwards.
void checked(int status, const char* call);

}  // namespace belfry::mpi
