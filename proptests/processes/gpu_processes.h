// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "belfry/testing/thread_group.h"

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

/// Hands all calls on. Children count calls, or fail.
class ForwardingGroup : public ProcessGroup {
 public:
  explicit ForwardingGroup(ProcessGroup& group) : group_(group) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return group_.gather(bytes);
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override {
    return group_.broadcast(bytes, from);
  }
  std::string host_name(int process) const override { return group_.host_name(process); }
  GroupHealth health() override { return group_.health(); }

 private:
  ProcessGroup& group_;
};

}  // namespace belfry::testing
