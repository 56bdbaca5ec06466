// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/backend.h"
#include "belfry/cross_replica_context.h"
#include "belfry/replica_context.h"

namespace belfry {

DeviceSpec ReplicaContext::device() const {
  detail::StrategyCore& core = merges_.core();
  return core.backend().device_spec(core.device_of(id_));
}

std::vector<DeviceSpec> CrossReplicaContext::devices() const {
  std::vector<DeviceSpec> specs;
  if (core_.own().count() == 0) return specs;
  specs.reserve(core_.devices().size());
  for (int device : core_.devices()) specs.push_back(core_.backend().device_spec(device));
  return specs;
}

Strategy& detail::strategy_of(CrossReplicaContext& cross) { return cross.strategy(); }

}  // namespace belfry
