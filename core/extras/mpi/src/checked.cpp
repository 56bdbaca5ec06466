// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "checked.h"

#include "belfry/error.h"

#include <mpi.h>

#include <array>
#include <string>

namespace belfry::mpi {

void checked(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(status, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw ProcessLostError(
      ErrorCode::kProcessLost,
      std::string(call) + " failed: " + std::string(text.data(), static_cast<std::size_t>(length)),
      "a process may have ended: read the output of mpirun");
}

}  // namespace belfry::mpi
