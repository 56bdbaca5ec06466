// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/collective.h"

namespace belfry::detail {

/// Runs a collective whose parts have the communication streams of their devices. The collective
/// follows the present work of the compute streams; later work with the inputs and the outputs
/// follows the collective (SEM-245).
/// Order: enqueued; the host does not block. Throws: as Communicator::run.
void run_in_order(Communicator& communicator, const Collective& collective);

}  // namespace belfry::detail
