// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "guarded.h"

namespace belfry::driver {

/// Reports a call with the handle of no communicator.
ncclResult_t no_communicator(const Call& call);
/// Returns `code`. A refused call inside a group lets the whole group fail.
ncclResult_t refused(const Call& call, ncclResult_t code);
/// Order: blocks the host until all ranks of a blocking communicator have joined. On failure the
/// communicator is gone.
ncclResult_t await_ranks(const Call& call, ncclComm_t comm);

}  // namespace belfry::driver
