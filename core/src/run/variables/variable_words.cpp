// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables in words, for messages and traces.
#include "belfry/detail/strategy_core.h"
#include "belfry/variable.h"

#include <string>

namespace belfry {

std::string to_string(Synchronization synchronization) {
  switch (synchronization) {
    case Synchronization::kAuto:
      return "auto";
    case Synchronization::kNone:
      return "none";
    case Synchronization::kOnWrite:
      return "on write";
    case Synchronization::kOnRead:
      return "on read";
  }
  return "synchronization(" + std::to_string(static_cast<int>(synchronization)) + ")";
}

namespace {

std::string words_of_kind(const detail::VariableInfo& info) {
  if (info.shards != nullptr) return "sharded";
  return info.synchronization == Synchronization::kOnRead ? "replica-local" : "mirrored";
}

}  // namespace

std::string detail::variable_text(const VariableInfo* info) {
  if (info == nullptr) return "no variable";
  std::string text = words_of_kind(*info) + (" variable \"" + info->name) + "\" on";
  for (const DeviceSpec& device : devices_of(*info)) text += " " + to_string(device);
  return text;
}

detail::ShownVariable detail::VariableRecord::about() const {
  const char* kind = "mirrored";
  if (info.synchronization == Synchronization::kOnRead) kind = "replica_local";
  if (info.shards != nullptr) kind = "sharded";
  return {.owner = info.owner,
          .number = info.number,
          .name = info.name,
          .kind = kind,
          .site = info.changed.empty() ? info.created : info.changed,
          .components = info.places.size(),
          .component_seen = info.places.component};
}

}  // namespace belfry
