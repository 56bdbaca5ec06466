// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The simulated devices of a process, perhaps without a device.
#include "belfry/sim/backend.h"
#include "belfry/testing/sim_factory.h"

#include <memory>
#include <string>

namespace belfry::testing {
namespace {

// Makes the backends of SimFactory, and backends without devices.
class DevicesOfProcesses final : public BackendFactory {
 public:
  std::string_view name() const override { return "sim in several processes"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    if (request.devices > 0) return several_.make(request);
    return std::make_unique<sim::Backend>(sim::Options{.devices = 0, .seed = request.seed},
                                          sim::Attachments{});
  }
  DeviceWork work(Backend& backend) const override { return several_.work(backend); }
  std::string replay_token(Backend& backend) const override {
    return several_.replay_token(backend);
  }

 private:
  SimFactory several_;
};

}  // namespace

const BackendFactory& backend_factory() {
  static const DevicesOfProcesses factory;
  return factory;
}

}  // namespace belfry::testing
