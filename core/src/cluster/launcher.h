// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cluster_environment.h"

#include <array>
#include <string_view>

namespace belfry::detail {

/// The variables with the numbers of each process, by launcher.
struct Launcher {
  ProcessSource source;
  /// Must be set, too: the script of a Slurm job has the rest alone. Empty: no mark.
  std::string_view mark;
  std::string_view rank;
  std::string_view size;
  std::string_view local_rank;
};

/// In the order of ProcessSource. In the script of a Slurm job, mpirun gives the script's variables
/// to all processes: Open MPI's come first.
inline constexpr std::array kLaunchers{
    Launcher{ProcessSource::kOpenMpi, "", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{ProcessSource::kSlurm, "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
             "SLURM_LOCALID"},
    Launcher{ProcessSource::kTorchrun, "", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
};

}  // namespace belfry::detail
