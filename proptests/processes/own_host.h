// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace belfry::testing {

/// Lets several processes of a machine share a GPU in NCCL, which refuses two processes of a host
/// on the same GPU: each process has a host name of its own. Processes of different hosts meet over
/// a socket of the loopback, without links between GPUs, and with few channels for the memory's
/// sake. Context: before the first call of NCCL.
inline void name_own_host(int rank) {
  const std::string host = "belfry-" + std::to_string(rank);
  ::setenv("NCCL_HOSTID", host.c_str(), 1);
  ::setenv("NCCL_NET", "Socket", 1);
  ::setenv("NCCL_SOCKET_IFNAME", "=lo", 1);
  ::setenv("NCCL_MNNVL_ENABLE", "0", 1);
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  ::setenv("NCCL_RAS_ENABLE", "0", 1);
  ::setenv("NCCL_MAX_CTAS", "2", 1);
}

}  // namespace belfry::testing
