// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"
#include "console.h"
#include "demo_backend.h"
#include "exit_code.h"

#include <cstdint>
#include <optional>
#include <string>

namespace belfry::demo {

using tool::Console;
using tool::ExitCode;

/// The options of `belfry demo`.
struct DemoOptions {
  BackendKind backend = BackendKind::kSim;
  int replicas = 4;  ///< Of all hosts.
  int hosts = 1;     ///< More than 1: of a simulated cluster.
  /// The processes that share out the replicas; null: this process alone.
  ProcessGroup* group = nullptr;
  int epochs = 20;
  int batch = 64;  ///< Examples of a step, over all replicas.
  double rate = 0.05;
  std::uint64_t seed = 1;
  std::string file;
  std::optional<int> dropped_replica{};
  /// The file for a trace of the training; empty: none. With a group, each process writes a file of
  /// its own, whose name ends in a point and the number of the process.
  std::string trace{};
};

/// Trains on the digits, compares each step with a single device, then shows the reference example,
/// a mistake and a timeline. Throws: errors of reading the file and of making the backend;
/// InvalidArgumentError (kFile) if the trace cannot be written.
ExitCode run_demo(const DemoOptions& options, Console& console);

}  // namespace belfry::demo
