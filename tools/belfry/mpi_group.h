// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"

#include <memory>

namespace belfry::demo {

/// The processes that mpirun has started. Throws: UnsupportedError in a build without MPI; as
/// mpi::Group.
std::unique_ptr<ProcessGroup> make_mpi_group(int& argc, char**& argv);

}  // namespace belfry::demo
