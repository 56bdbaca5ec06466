// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.h"
#include "demo_backend.h"

#include <cstdint>
#include <optional>
#include <string>

namespace belfry::demo {

/// What `belfry demo` was asked for.
struct DemoOptions {
  BackendKind backend = BackendKind::kSim;
  int replicas = 4;
  int epochs = 20;
  int batch = 64;  ///< Examples of a step, over all replicas.
  double rate = 0.05;
  std::uint64_t seed = 1;
  std::string file;
  std::optional<int> dropped_replica{};
};

/// What the tool says to its caller.
enum class ExitCode : int {
  kGood = 0,
  kMismatch = 1,     ///< Something was checked and found wrong.
  kUsage = 2,        ///< Wrong flags or a file that does not hold what it should.
  kEnvironment = 3,  ///< A file or a device that is not there, an output that takes nothing.
};

/// Trains on the digits, compares each step with one device, then shows the reference example, a
/// mistake and a timeline. Throws: what reading the file and making the backend throw.
ExitCode run_demo(const DemoOptions& options, Console& console);

}  // namespace belfry::demo
