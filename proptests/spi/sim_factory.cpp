// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/sim/backend.h"
#include "belfry/testing/backend_factory.h"

namespace belfry::testing {
namespace {

class SimFactory final : public BackendFactory {
 public:
  std::string_view name() const override { return "sim"; }

  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    sim::Options options;
    options.devices = request.devices;
    options.seed = request.seed;
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

  std::string replay_token(Backend& backend) const override {
    return static_cast<sim::Backend&>(backend).replay_token();
  }
};

}  // namespace

const BackendFactory& backend_factory() {
  static const SimFactory factory;
  return factory;
}

}  // namespace belfry::testing
