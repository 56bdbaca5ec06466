// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/trace.h"

#include <cstdint>
#include <memory>
#include <string>

namespace belfry::demo {

enum class BackendKind : std::uint8_t { kSim, kCuda };

/// A backend, and a sentence on the meaning of its results.
struct DemoBackend {
  std::unique_ptr<Backend> backend;
  std::string devices;  ///< `4 simulated devices`.
  std::string claim;    ///< The meaning of results; empty without a remark.
};

/// `count` devices. The seed decides the order of events in a simulator. A trace gets the steps of
/// the backend. Throws: DeviceError (kNoDriver) for CUDA without a driver or GPU.
DemoBackend make_demo_backend(BackendKind kind, int count, std::uint64_t seed,
                              TraceFile* trace = nullptr);

}  // namespace belfry::demo
