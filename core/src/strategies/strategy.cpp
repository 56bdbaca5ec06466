// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/strategy.h"

#include "belfry/default_strategy.h"
#include "belfry/mirrored_strategy.h"
#include "belfry/one_device_strategy.h"

#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace belfry {
namespace {

std::vector<int> all_devices(Backend& backend) {
  std::vector<int> devices(static_cast<std::size_t>(backend.device_count()));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

std::vector<int> named_devices(Backend& backend, const std::vector<DeviceSpec>& specs,
                               CallSite site) {
  if (specs.empty()) return all_devices(backend);
  std::vector<int> devices;
  std::set<int> seen;
  for (const DeviceSpec& spec : specs) {
    devices.push_back(backend.index_of(spec, site));
    if (!seen.insert(devices.back()).second) {
      throw InvalidArgumentError(ErrorCode::kDuplicateDevice, to_string(spec) + " is named twice",
                                 "one replica a device: name each once", site);
    }
  }
  return devices;
}

std::vector<int> require_some(std::vector<int> devices) {
  if (devices.empty()) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "a strategy needs at least one device");
  }
  return devices;
}

}  // namespace

Strategy::Strategy(Backend& backend, std::vector<int> devices, std::optional<ReductionOrder> order)
    : core_(*this, backend, require_some(std::move(devices)), order), cross_(core_) {}

Strategy::~Strategy() = default;

PerReplica<int> Strategy::worker_device_index() const {
  detail::ReplicaArray<int> indices(num_replicas());
  for (int replica = 0; replica < num_replicas(); ++replica) indices.emplace_back(replica);
  return PerReplica<int>(std::move(indices));
}

MirroredStrategy::MirroredStrategy(Backend& backend, CallSite site)
    : MirroredStrategy(backend, StrategyOptions{}, site) {}

MirroredStrategy::MirroredStrategy(Backend& backend, const StrategyOptions& options, CallSite site)
    : Strategy(backend, named_devices(backend, options.devices, site), options.order) {}

OneDeviceStrategy::OneDeviceStrategy(Backend& backend, const DeviceSpec& device, CallSite site)
    : Strategy(backend, {backend.index_of(device, site)}, std::nullopt) {}

DefaultStrategy::DefaultStrategy() : Strategy(host_backend, {0}, std::nullopt) {}

}  // namespace belfry
