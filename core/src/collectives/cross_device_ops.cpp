// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_device_ops.h"

#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"

#include <utility>

namespace belfry {

ReplicaDevices::ReplicaDevices(Backend& backend, std::vector<int> indices)
    : backend_(&backend), indices_(std::move(indices)) {}

ReplicaDevices ReplicaDevices::without_communicator(Backend& backend, std::vector<int> indices) {
  ReplicaDevices devices(backend, std::move(indices));
  devices.communicator_is_impossible_ = true;
  return devices;
}

// Whether devices can communicate shows only when a communicator is made.
Communicator* ReplicaDevices::communicator() {
  if (communicator_ == nullptr && !communicator_is_impossible_) {
    try {
      communicator_ = backend_->communicator(indices_);
    } catch (const UnsupportedError&) {
      communicator_is_impossible_ = true;
    }
  }
  return communicator_.get();
}

bool TensorReduction::all_replicas_take_part() const {
  return members == devices->indices().size();
}

std::optional<ReductionPlan> CrossDeviceOps::plan(int /*members*/) const { return {}; }

Communicator* TensorReduction::communicator() const {
  return all_replicas_take_part() ? devices->communicator() : nullptr;
}

}  // namespace belfry
