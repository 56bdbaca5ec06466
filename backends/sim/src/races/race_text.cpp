// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/race_text.h"

#include "watch/host_watch.h"

#include <string>
#include <utility>

namespace belfry::sim::races {
namespace {

using AccessKind = BufferAccess::Kind;

std::string stream_name(std::int32_t stream) {
  return to_string(AgentId{AgentId::Kind::kStream, stream});
}

// Calls of streams have no call site: the line tables of watched code have the line of the call.
std::string place_of(const CallSite& site, const void* code) {
  if (!site.empty()) return to_string(site);
  return code == nullptr ? "" : watch::source_line(code);
}

std::string operation_of(const BufferAccess& access) {
  const std::string_view name = access.origin->name;
  if (access.kind == AccessKind::kHost) return name.empty() ? "the host" : std::string(name);
  return std::string(name) + " in " + stream_name(access.origin->stream);
}

RaceSide side_of(const BufferAccess& access) {
  return {.agent = to_string(access.origin->actor),
          .operation = operation_of(access),
          .writes = access.writes,
          .begin = access.begin,
          .end = access.end,
          .place = place_of(access.origin->site, access.origin->code)};
}

// The second access comes after the first in this run alone. Two agents in a phase have no order,
// whatever they wait for: a wait covers the work that is in the stream already.
std::string missing_order(const BufferAccess& first, const BufferAccess& second) {
  const bool unordered_agents = first.slot != second.slot && first.phase == second.phase;
  const std::string earlier = stream_name(first.origin->stream);
  if (second.kind == AccessKind::kHost) {
    const std::string agent = to_string(second.origin->actor);
    if (unordered_agents) {
      return "a merge between the call and the access of " + agent +
             ", and after the merge a wait for " + earlier + ", are missing";
    }
    return agent + (second.writes ? " writes" : " reads") + " without a wait for " + earlier;
  }
  if (first.kind == AccessKind::kHost) {
    return "a merge between the access and the call of " + to_string(second.origin->actor) +
           " is missing";
  }
  const std::string later = stream_name(second.origin->stream);
  if (first.origin->stream == second.origin->stream) {
    return "replicas submit to " + earlier + " in any order: a merge between the calls is missing";
  }
  const std::string streams = later + " does not wait for " + earlier;
  if (unordered_agents) return streams + ", and a merge between the calls is missing";
  return streams + ": record an event in " + earlier + " after the first access, and let " + later +
         " wait for the event before the second";
}

}  // namespace

Race race_of(const Actor& maker, std::uint32_t number, const BufferAccess& first,
             const BufferAccess& second) {
  std::string subject = "a buffer";
  if (number != 0) subject = "buffer " + std::to_string(number) + " of " + to_string(maker);
  return {side_of(first), side_of(second), std::move(subject), missing_order(first, second)};
}

RaceSide side_of_event(Observation::Kind kind, const Actor& actor, const CallSite& site,
                       const void* code) {
  const bool records = kind == Observation::Kind::kRecorded;
  std::string call = records ? "a record of the event" : "a wait for the event";
  if (kind == Observation::Kind::kQueried) call = "a query of the event";
  return {.agent = to_string(actor),
          .operation = std::move(call),
          .writes = records,
          .place = place_of(site, code)};
}

}  // namespace belfry::sim::races
