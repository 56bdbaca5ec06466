// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/strategies.h"

namespace belfry {
namespace {

int storage_for(Backend& backend, const std::vector<int>& replica_devices,
                const std::optional<DeviceSpec>& asked, CallSite site) {
  if (asked) return backend.index_of(*asked, site);
  if (replica_devices.size() == 1) return replica_devices.front();
  for (int device = 0; device < backend.device_count(); ++device) {
    if (backend.device_spec(device).type == "CPU") return device;
  }
  return replica_devices.front();
}

}  // namespace

CentralStorageStrategy::CentralStorageStrategy(Backend& backend,
                                               const CentralStorageOptions& options, CallSite site)
    : Strategy(backend,
               StrategyOptions{.devices = options.devices,
                               .order = options.order,
                               .cross_device_ops = options.cross_device_ops,
                               .links = options.links,
                               .log = options.log,
                               .require_names = options.require_names,
                               .report_overflow = options.report_overflow},
               site),
      storage_(storage_for(backend, replica_devices(), options.storage, site)) {}

VariablePlaces CentralStorageStrategy::do_place(Synchronization kind) const {
  return kind == Synchronization::kOnRead ? Strategy::do_place(kind)
                                          : VariablePlaces::in_one_place(storage_, num_replicas());
}

}  // namespace belfry
