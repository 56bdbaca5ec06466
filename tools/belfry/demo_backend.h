// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"

#include <cstdint>
#include <memory>
#include <string>

namespace belfry::demo {

enum class BackendKind : std::uint8_t { kSim, kCuda };

/// A backend and what may be said about results from it.
struct DemoBackend {
  std::unique_ptr<Backend> backend;
  std::string devices;  ///< `4 simulated devices`.
  std::string claim;    ///< What a result from here shows; empty when there is nothing to add.
};

/// `count` devices. The seed decides the order in which a simulator lets things happen.
/// Throws: DeviceError (kNoDriver) for CUDA without a driver or GPU.
DemoBackend make_demo_backend(BackendKind kind, int count, std::uint64_t seed);

}  // namespace belfry::demo
