// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"
#include "belfry/testing/backend_factory.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace belfry::testing {

/// Simulated devices, with the checks of users' kernels (SEM-174).
class SimFactory final : public BackendFactory {
 public:
  std::string_view name() const override { return "sim"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    sim::Options options{.devices = request.devices, .seed = request.seed, .check_kernels = true};
    if (request.schedule == ScheduleKind::kFixed) options.schedule = sim::Schedule::fixed();
    if (request.schedule == ScheduleKind::kReplay) {
      options.schedule = sim::Schedule::replay(request.replay);
    }
    options.memory_limit_bytes = request.memory_limit_bytes;
    options.share_copies = request.share_copies;
    if (request.functions_of_last && request.devices > 0) {
      options.functions_of = request.devices - 1;
    }
    options.carrier = static_cast<sim::Carrier>(request.carrier);  // Equal order of enumerators.
    return std::make_unique<sim::Backend>(options);
  }
  DeviceWork work(Backend& backend) const override {
    DeviceWork work;
    finish(static_cast<sim::Backend&>(backend));
    for (const sim::LogRecord& record : static_cast<sim::Backend&>(backend).log().records()) {
      work.commands += record.kind == OperationKind::kExecute ? 1 : 0;
      work.collectives += record.kind == OperationKind::kCollective ? 1 : 0;
    }
    return work;
  }
  std::optional<std::uint64_t> order_free_hash(Backend& backend) const override {
    auto& simulated = static_cast<sim::Backend&>(backend);
    finish(simulated);
    return simulated.log().order_free_hash();
  }
  std::string replay_token(Backend& backend) const override {
    return static_cast<sim::Backend&>(backend).replay_token();
  }

 private:
  /// Executes all enqueued work. Work that the host has not waited for may be pending.
  static void finish(sim::Backend& backend) {
    for (const sim::DeviceMemoryReport& used : backend.memory_report()) {
      Device& device = backend.device(used.device);
      for (Stream* stream : {&device.compute_stream(), &device.communication_stream()}) {
        try {
          stream->synchronize();
        } catch (...) {
          continue;  // The work failed on purpose. Bodies of kernels throw any type.
        }
      }
    }
  }
};

}  // namespace belfry::testing
