// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/options_text.h"
#include "belfry/testing/backend_factory.h"

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

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

}  // namespace

std::string to_string(CarrierKind carrier) {
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

std::string to_string(ScheduleKind schedule) {
  constexpr std::array<std::string_view, 3> kWords{"fixed", "random", "replay"};
  return detail::word_of(kWords, static_cast<int>(schedule));
}

std::string to_string(const DeviceWork& work) {
  return "commands " + std::to_string(work.commands) + ", collectives " +
         std::to_string(work.collectives);
}

std::optional<CarrierKind> carrier_of_environment() {
  const char* const word = std::getenv("BELFRY_TESTING_CARRIER");
  if (word == nullptr || *word == '\0') return std::nullopt;
  if (std::string(word) == "fiber") return CarrierKind::kFiber;
  if (std::string(word) == "baton") return CarrierKind::kBaton;
  if (std::string(word) == "concurrent") return CarrierKind::kConcurrent;
  throw std::invalid_argument("BELFRY_TESTING_CARRIER=" + std::string(word) +
                              ": fiber, baton or concurrent");
}

bool share_copies_of_environment() {
  const char* const word = std::getenv("BELFRY_TESTING_SHARE_COPIES");
  return word != nullptr && std::string(word) == "1";
}

bool functions_of_last_by_environment() {
  const char* const word = std::getenv("BELFRY_TESTING_FUNCTIONS_OF");
  if (word == nullptr || *word == '\0' || std::string(word) == "first") return false;
  if (std::string(word) == "last") return true;
  throw std::invalid_argument("BELFRY_TESTING_FUNCTIONS_OF=" + std::string(word) +
                              ": first or last");
}

std::string to_string(const BackendRequest& request) {
  std::string text = std::to_string(request.devices);
  text += request.devices == 1 ? " device" : " devices";
  if (request.memory_limit_bytes > 0) {
    text += " of " + std::to_string(request.memory_limit_bytes) + " bytes";
  }
  text += ", " + schedule_text(request) + ", " + to_string(request.carrier);
  return request.functions_of_last ? text + ", functions of the last replica" : text;
}

}  // namespace belfry::testing
