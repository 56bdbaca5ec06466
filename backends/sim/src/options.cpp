// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/options.h"

#include "belfry/sim/replay_token.h"

#include <cstdint>
#include <limits>
#include <string_view>

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

namespace {

constexpr std::string_view kSpace = "belfry::sim::";

// A number that stands for no enumerator keeps its value.
template <class E>
std::string enumerator(const char* type, const char* name, E value) {
  const std::string full = std::string(kSpace) + type;
  if (name != nullptr) return full + "::" + name;
  return "static_cast<" + full + ">(" + std::to_string(static_cast<int>(value)) + ")";
}

std::string code_of(Carrier carrier) {
  const char* const names[] = {"kFiber", "kBaton", "kConcurrent"};
  return enumerator("Carrier",
                    carrier <= Carrier::kConcurrent ? names[static_cast<int>(carrier)] : nullptr,
                    carrier);
}

std::string code_of(Digests digests) {
  const char* const names[] = {"kNone", "kSampled", "kAll"};
  return enumerator("Digests",
                    digests <= Digests::kAll ? names[static_cast<int>(digests)] : nullptr, digests);
}

std::string code_of(const Schedule& schedule) {
  const std::string make = std::string(kSpace) + "Schedule::";
  switch (schedule.kind) {
    case ScheduleKind::kFixed:
      return make + "fixed()";
    case ScheduleKind::kRandom:
      return make + "random()";
    case ScheduleKind::kReplayed:
      return make + "replay(\"" + encode_choices(schedule.choices) + "\")";
  }
  return "{.kind = " + enumerator("ScheduleKind", nullptr, schedule.kind) + "}";
}

// A literal beyond the largest signed number needs the suffix.
std::string code_of(std::uint64_t number) {
  const bool is_signed = number <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  return std::to_string(number) + (is_signed ? "" : "u");
}

std::string code_of(bool value) { return value ? "true" : "false"; }

}  // namespace

std::string to_string(const Options& options) {
  const Options defaults;
  std::string text = "{.devices = " + std::to_string(options.devices);
  const auto add = [&]<class T>(const char* name, const T& value, const T& usual) {
    if (value != usual) text += std::string(", .") + name + " = " + code_of(value);
  };
  add("schedule", options.schedule, defaults.schedule);
  add("carrier", options.carrier, defaults.carrier);
  add("memory_limit_bytes", options.memory_limit_bytes, defaults.memory_limit_bytes);
  add("share_copies", options.share_copies, defaults.share_copies);
  add("record", options.record, defaults.record);
  add("digests", options.digests, defaults.digests);
  add("record_limit", options.record_limit, defaults.record_limit);
  add("stack_bytes", options.stack_bytes, defaults.stack_bytes);
  add("seed", options.seed, defaults.seed);
  if (options.functions_of != defaults.functions_of) {
    text += ", .functions_of = " + std::to_string(options.functions_of);
  }
  return text + "}";
}

}  // namespace belfry::sim
