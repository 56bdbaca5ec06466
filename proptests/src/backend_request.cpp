// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/backend_factory.h"

#include <string>

namespace belfry::testing {
namespace {

std::string schedule_text(const BackendRequest& request) {
  switch (request.schedule) {
    case ScheduleKind::kFixed:
      return "fixed schedule";
    case ScheduleKind::kRandom:
      return "random schedule " + std::to_string(request.seed);
    case ScheduleKind::kReplay:
      return "replay of " + request.replay;
  }
  return "?";
}

const char* carrier_text(CarrierKind carrier) {
  switch (carrier) {
    case CarrierKind::kFiber:
      return "fibers";
    case CarrierKind::kBaton:
      return "baton";
    case CarrierKind::kConcurrent:
      return "concurrent threads";
  }
  return "?";
}

}  // namespace

std::string to_string(const BackendRequest& request) {
  return std::to_string(request.devices) + (request.devices == 1 ? " device, " : " devices, ") +
         schedule_text(request) + ", " + carrier_text(request.carrier);
}

}  // namespace belfry::testing
