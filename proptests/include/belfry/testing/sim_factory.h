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

/// Simulated devices.
class SimFactory final : public BackendFactory {
 public:
  std::string_view name() const override { return "sim"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    sim::Options options{.devices = request.devices, .seed = request.seed};
    if (request.schedule == ScheduleKind::kFixed) options.schedule = sim::Schedule::fixed();
    if (request.schedule == ScheduleKind::kReplay) {
      options.schedule = sim::Schedule::replay(request.replay);
    }
    options.memory_limit_bytes = request.memory_limit_bytes;
    options.carrier = static_cast<sim::Carrier>(request.carrier);  // Declared in the same order.
    return std::make_unique<sim::Backend>(options);
  }
  DeviceWork work(Backend& backend) const override {
    DeviceWork work;
    for (const sim::LogRecord& record : static_cast<sim::Backend&>(backend).log().records()) {
      work.commands += record.kind == OperationKind::kExecute ? 1 : 0;
      work.collectives += record.kind == OperationKind::kCollective ? 1 : 0;
    }
    return work;
  }
  std::optional<std::uint64_t> order_free_hash(Backend& backend) const override {
    const auto& simulated = static_cast<sim::Backend&>(backend);
    // What is enqueued and not awaited may have been executed or not.
    for (int device = 0; device < backend.device_count(); ++device) {
      backend.device(device).compute_stream().synchronize();
      backend.device(device).communication_stream().synchronize();
    }
    return simulated.log().order_free_hash();
  }
  std::string replay_token(Backend& backend) const override {
    return static_cast<sim::Backend&>(backend).replay_token();
  }
};

}  // namespace belfry::testing
