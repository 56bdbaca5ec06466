// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/communicator.h"
#include "device.h"

#include <memory>
#include <vector>

namespace belfry::cuda {

/// The communicator that fits where `devices` are: one kernel when they share a GPU, NCCL when each
/// has its own, both when several GPUs hold several each. Throws: DeviceError, UnsupportedError.
std::unique_ptr<Communicator> make_communicator(const std::shared_ptr<SharedState>& shared,
                                                std::vector<Device*> devices);

}  // namespace belfry::cuda
