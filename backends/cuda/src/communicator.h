// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "device.h"

#include <memory>
#include <vector>

namespace belfry::cuda {

/// The communicator for the GPUs of `devices`: a kernel if all devices share a GPU, NCCL if each
/// device has its own GPU, both if several GPUs hold several devices each. Throws: DeviceError,
/// UnsupportedError.
std::unique_ptr<Communicator> make_communicator(const std::shared_ptr<SharedState>& shared,
                                                const std::vector<Device*>& devices);

}  // namespace belfry::cuda
