// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cuda/backend.h"
#include "belfry/testing/process_place.h"
#include "belfry/testing/thread_group.h"
#include "processes/gpu_processes.h"
#include "src/contracts/draw_tape.h"

#include <cstddef>
#include <functional>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

/// Cases of properties in several processes with GPUs of their own, on one simulated machine.
namespace belfry::testing {

/// The processes begin their cases in turn: a process draws values until the first call of the
/// group.
class BeginningGroup final : public ForwardingGroup {
 public:
  BeginningGroup(ProcessGroup& group, std::unique_lock<std::mutex>& turn)
      : ForwardingGroup(group), turn_(turn) {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    begin();
    return ForwardingGroup::gather(bytes);
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override {
    begin();
    return ForwardingGroup::broadcast(bytes, from);
  }

 private:
  void begin() {
    if (turn_.owns_lock()) turn_.unlock();
  }

  std::unique_lock<std::mutex>& turn_;
};

/// A GPU for each replica.
inline std::vector<int> gpus_of(const ProcessPlace& place) {
  std::vector<int> gpus(static_cast<std::size_t>(place.devices()));
  std::iota(gpus.begin(), gpus.end(), place.first_replica());
  return gpus;
}

/// Calls `run_case` in each process, on a thread of its own. The processes draw the same values,
/// before the first call of the group. Context: in a property. Throws: as run_processes.
inline void on_gpus(const std::vector<int>& devices_of, cuda::Carrier carrier,
                    const std::function<void(const ProcessPlace&)>& run_case) {
  DrawTape draws;
  std::mutex mutex;
  run_processes(static_cast<int>(devices_of.size()), [&](ProcessGroup& own) {
    std::unique_lock turn(mutex);
    draws.rewind();
    BeginningGroup group(own, turn);
    ProcessPlace place{group, devices_of};
    const std::vector<int> gpus = gpus_of(place);
    cuda::Backend backend{{.devices = gpus,
                           .replicas_per_gpu = gpus.empty() ? 0 : 1,
                           .carrier = carrier,
                           .warm_up = false,
                           .verify_mirrored = true}};
    place.backend = &backend;
    run_case(place);
  });
}

}  // namespace belfry::testing
