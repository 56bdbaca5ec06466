// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/options.h"

#include <ostream>

namespace belfry::sim {

std::string to_string(Carrier carrier) {
  switch (carrier) {
    case Carrier::kFiber:
      return "fiber";
    case Carrier::kBaton:
      return "baton";
    case Carrier::kConcurrent:
      return "concurrent";
  }
  return "?";
}

std::string to_string(Digests digests) {
  switch (digests) {
    case Digests::kNone:
      return "none";
    case Digests::kSampled:
      return "sampled";
    case Digests::kAll:
      return "all";
  }
  return "?";
}

std::string to_string(const Options& options) {
  const Options defaults;
  std::string text = "{.devices = " + std::to_string(options.devices);
  const auto add = [&](const char* name, const std::string& value, bool differs) {
    if (differs) text += std::string(", .") + name + " = " + value;
  };
  add("schedule", to_string(options.schedule), options.schedule != defaults.schedule);
  add("carrier", to_string(options.carrier), options.carrier != defaults.carrier);
  add("memory_limit_bytes", std::to_string(options.memory_limit_bytes),
      options.memory_limit_bytes != defaults.memory_limit_bytes);
  add("share_copies", options.share_copies ? "true" : "false",
      options.share_copies != defaults.share_copies);
  add("record", options.record ? "true" : "false", options.record != defaults.record);
  add("digests", to_string(options.digests), options.digests != defaults.digests);
  add("record_limit", std::to_string(options.record_limit),
      options.record_limit != defaults.record_limit);
  add("stack_bytes", std::to_string(options.stack_bytes),
      options.stack_bytes != defaults.stack_bytes);
  add("seed", std::to_string(options.seed), options.seed != defaults.seed);
  add("functions_of", std::to_string(options.functions_of),
      options.functions_of != defaults.functions_of);
  return text + "}";
}

std::ostream& operator<<(std::ostream& stream, const Options& options) {
  return stream << to_string(options);
}

}  // namespace belfry::sim
