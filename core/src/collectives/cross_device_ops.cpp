// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cross_device_ops.h"

#include "belfry/error.h"
#include "belfry/planned_all_reduce.h"
#include "collectives/order_after.h"

#include <memory>
#include <utility>

namespace belfry {
namespace {

// A strategy without an algorithm of its own may name an order that the communicator lacks.
bool fits(const TensorReduction& reduction, const Communicator& communicator) {
  const bool has_order = !reduction.order || *reduction.order == communicator.order();
  return has_order && communicator.supports(reduction.parts.front().input.dtype);
}

// Small tensors in packs, which are faster and keep the bits. In ring order the place of an element
// in a tensor decides its additions.
void to_one_device(const TensorReduction& reduction) {
  const auto algorithm = std::make_shared<ReductionToOneDevice>();
  if (reduction.tensors() == 1 || reduction.order == ReductionOrder::kRing) {
    algorithm->all_reduce(reduction);
  } else {
    in_packs(algorithm)->all_reduce(reduction);
  }
}

}  // namespace

void order_after(Stream& later, Stream& earlier, Device& device) {
  const auto done = device.create_event();
  earlier.record(*done);
  later.wait(*done);
}

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

ReductionOrder NativeAllReduce::order(ReplicaDevices& devices) const {
  const Communicator* const communicator = devices.communicator();
  return communicator == nullptr ? ReductionOrder::kReplicaOrder : communicator->order();
}

void NativeAllReduce::all_reduce(const TensorReduction& reduction) {
  Communicator* const communicator = reduction.communicator();
  if (communicator != nullptr && fits(reduction, *communicator)) {
    communicator->run(
        {.kind = CollectiveKind::kAllReduce, .parts = reduction.parts, .op = reduction.op});
  } else {
    to_one_device(reduction);
  }
}

}  // namespace belfry
