// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"

#include <memory>
#include <vector>

namespace belfry {

class FlightRecorder;

/// The smallest backend: devices `CPU:0`, `CPU:1`, ... in host memory, with streams that work at
/// once. The backend of the default strategy, and of core's own tests. Bounds are checked. Events
/// order nothing, and the owner of streams, events and buffers is not checked. Use the simulator
/// for schedules, faults and reports.
class HostBackend final : public Backend {
 public:
  /// Without devices, the backend is for a process of a MultiWorkerMirroredStrategy whose replicas
  /// are all in other processes (SEM-238). `recorder`: keeps the last merges; may be null.
  /// Throws: InvalidArgumentError (kNoDevices) for fewer than 0.
  explicit HostBackend(int devices = 1, FlightRecorder* recorder = nullptr);
  ~HostBackend() override;

  std::string_view name() const override { return "host"; }
  int device_count() const override { return count_; }
  DeviceSpec device_spec(int index) const override;
  Device& device(int index) override;
  std::unique_ptr<Communicator> communicator(std::span<const int> devices) override;
  Executor& executor() override { return *executor_; }
  const Connections& connections() const override { return connections_; }
  RunSettings run_settings() const override {
    return {
        .verifies_mirrored = true, .kernel_failures = kernel_failures_.get(), .flights = flights_};
  }

 private:
  int count_;
  Connections connections_{.host = 0};
  std::shared_ptr<KernelFailures> kernel_failures_;  // Shared with the streams.
  detail::FlightRing* flights_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace belfry
