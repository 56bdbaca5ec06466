// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/options.h"

#include "belfry/detail/options_text.h"
#include "belfry/sim/replay_token.h"
#include "schedule/schedule_code.h"

#include <array>
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

using detail::Enumerators;
using Name = std::string_view;

constexpr std::array<Name, 3> kCarriers{"kFiber", "kBaton", "kConcurrent"};
constexpr std::array<Name, 3> kDigests{"kNone", "kSampled", "kAll"};

}  // namespace

std::string schedule_code(const Schedule& schedule) {
  const std::string make = "belfry::sim::Schedule::";
  switch (schedule.kind) {
    case ScheduleKind::kFixed:
      return make + "fixed()";
    case ScheduleKind::kRandom:
      return make + "random()";
    case ScheduleKind::kReplayed:
      return make + "replay(" + detail::quoted(encode_choices(schedule.choices)) + ")";
  }
  const detail::Enumerators nameless{"belfry::sim::ScheduleKind", {}};
  return "{.kind = " + enumerator_code(nameless, static_cast<int>(schedule.kind)) + "}";
}

std::string to_string(const Options& options) {
  const Options usual;
  detail::OptionsText text;
  text.put("devices", std::to_string(options.devices));
  if (options.schedule != usual.schedule) text.put("schedule", schedule_code(options.schedule));
  text.add("carrier", options.carrier, usual.carrier, {"belfry::sim::Carrier", kCarriers});
  text.add("memory_limit_bytes", options.memory_limit_bytes, usual.memory_limit_bytes);
  text.add("share_copies", options.share_copies, usual.share_copies);
  text.add("record", options.record, usual.record);
  text.add("digests", options.digests, usual.digests, {"belfry::sim::Digests", kDigests});
  text.add("record_limit", options.record_limit, usual.record_limit);
  text.add("stack_bytes", options.stack_bytes, usual.stack_bytes);
  text.add("seed", options.seed, usual.seed);
  text.add("functions_of", options.functions_of, usual.functions_of);
  text.add("max_steps", options.max_steps, usual.max_steps);
  text.add("links", options.links, {});
  text.add("check_kernels", options.check_kernels, usual.check_kernels);
  text.add("audit_watch", options.audit_watch, usual.audit_watch);
  return text.text();
}

}  // namespace belfry::sim
