// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_group.h"

#include "belfry/error.h"

#ifdef BELFRY_WITH_MPI
#include "belfry/mpi/group.h"
#endif

namespace belfry::demo {

std::unique_ptr<ProcessGroup> make_mpi_group([[maybe_unused]] int& argc,
                                             [[maybe_unused]] char**& argv) {
#ifdef BELFRY_WITH_MPI
  return std::make_unique<mpi::Group>(argc, argv);
#else
  throw UnsupportedError(ErrorCode::kUnsupported, "belfry was built without MPI",
                         "install an MPI 3.1, such as Open MPI, and build again");
#endif
}

}  // namespace belfry::demo
