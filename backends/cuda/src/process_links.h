// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/process_links.h"
#include "device.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace belfry::cuda {

/// The offer lists the GPUs of `devices`, says whether communicators are warmed up, and has the id
/// of the communicator if `leads`. Throws: DeviceError; UnsupportedError for the host, and for
/// several GPUs if launches block.
std::vector<std::byte> offer_of(const SharedState& shared, const std::vector<Device*>& devices,
                                bool leads);

/// The communicator joins the devices of all processes; `devices` are in this process. Each GPU of
/// each process is a rank of NCCL: a kernel joins the devices of a process on one GPU. Order:
/// blocks the host. Throws: as ProcessLinks::join.
std::unique_ptr<Communicator> join_processes(const std::shared_ptr<SharedState>& shared,
                                             const std::vector<Device*>& devices,
                                             const ProcessJoin& all);

}  // namespace belfry::cuda
