// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_backend.h"

#include "belfry/backend/current_slot.h"
#include "belfry/backend/executor.h"
#include "belfry/backend/kernel_failures.h"
#include "belfry/backend/unwatched.h"
#include "belfry/error.h"
#include "belfry/flight_recorder.h"
#include "host/host_communicator.h"
#include "host/host_device.h"

#include <algorithm>
#include <set>
#include <string>

namespace belfry {

HostBackend::HostBackend(int devices, FlightRecorder* recorder)
    : count_(devices),
      kernel_failures_(std::make_shared<KernelFailures>()),
      flights_(recorder == nullptr ? nullptr : &recorder->ring()),
      executor_(make_fiber_executor({})) {
  if (devices < 0) {
    throw InvalidArgumentError(ErrorCode::kNoDevices,
                               "a backend of " + std::to_string(devices) + " devices",
                               "ask for 1 or more, or for 0 in a process without devices");
  }
  // Without devices, the host has the index 0.
  devices_.resize(static_cast<std::size_t>(std::max(devices, 1)));
}

HostBackend::~HostBackend() = default;

DeviceSpec HostBackend::device_spec(int index) const {
  DeviceSpec spec;
  spec.index = index;
  return spec;
}

Device& HostBackend::device(int index) {
  if (!has_device(index)) {
    throw InvalidArgumentError(
        ErrorCode::kUnknownDevice,
        "device " + std::to_string(index) + " of a backend with " + std::to_string(count_),
        "devices are numbered from 0", detail::submitting_site());
  }
  const detail::Unwatched unwatched;
  auto& place = devices_[static_cast<std::size_t>(index)];
  if (place == nullptr) place = std::make_unique<host::HostDevice>(index, kernel_failures_);
  return *place;
}

std::unique_ptr<Communicator> HostBackend::communicator(std::span<const int> devices) {
  if (devices.empty()) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "a communicator needs at least one device");
  }
  std::set<int> seen;
  for (int index : devices) {
    device(index);
    if (!seen.insert(index).second) {
      throw InvalidArgumentError(ErrorCode::kDuplicateDevice,
                                 "device " + std::to_string(index) + " is named twice");
    }
  }
  return std::make_unique<host::HostCommunicator>(static_cast<int>(devices.size()));
}

}  // namespace belfry
