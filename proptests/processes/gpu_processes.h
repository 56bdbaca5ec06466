// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "belfry/testing/thread_group.h"
#include "processes/forwarding_group.h"

#include <chrono>
#include <functional>
#include <vector>

namespace belfry::testing {

/// Processes with GPUs of their own: threads, with a CUDA backend each, on one simulated machine.
struct GpuProcesses {
  std::vector<std::vector<int>> gpus;  ///< The GPU of each device of each process; may be none.
  StrategyOptions options{};           ///< Of the strategy.
  std::chrono::milliseconds deadline{60'000};
  cuda::Carrier carrier = cuda::Carrier::kConcurrent;

  int replicas() const {
    int all = 0;
    for (const auto& own : gpus) all += static_cast<int>(own.size());
    return all;
  }
};

/// A process in the body of a test.
struct GpuProcess {
  MultiWorkerMirroredStrategy& strategy;
  ProcessGroup& group;
  cuda::Backend& backend;
};

/// Gives a strategy a group in place of the group of the threads.
using WrapGroup = std::function<ProcessGroup&(ProcessGroup&)>;

inline void on_gpu_processes(
    const GpuProcesses& processes, const std::function<void(GpuProcess&)>& body,
    const WrapGroup& wrap = [](ProcessGroup& own) -> ProcessGroup& { return own; }) {
  run_processes(static_cast<int>(processes.gpus.size()), [&](ProcessGroup& own) {
    ProcessGroup& group = wrap(own);
    const std::vector<int>& gpus = processes.gpus[static_cast<std::size_t>(group.rank())];
    cuda::Backend backend{{.devices = gpus,
                           .replicas_per_gpu = gpus.empty() ? 0 : 1,
                           .carrier = processes.carrier,
                           .deadline = processes.deadline,
                           .warm_up = false}};
    MultiWorkerMirroredStrategy strategy{backend, group, processes.options};
    GpuProcess process{strategy, group, backend};
    body(process);
  });
}

}  // namespace belfry::testing
