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
  if (access.kind == AccessKind::kHost) return "the host";
  return std::string(access.origin->name) + " in " + stream_name(access.origin->stream);
}

RaceSide side_of(const BufferAccess& access) {
  return {.agent = to_string(access.origin->actor),
          .operation = operation_of(access),
          .writes = access.writes,
          .begin = access.begin,
          .end = access.end,
          .place = place_of(access.origin->site, access.origin->code)};
}

// The second access comes after the first in this run alone.
std::string missing_order(const BufferAccess& first, const BufferAccess& second) {
  if (second.kind == AccessKind::kHost) {
    return to_string(second.origin->actor) + " does not wait for the work in " +
           stream_name(first.origin->stream);
  }
  if (first.kind == AccessKind::kHost) {
    return "no merge comes between the read and the submission by " +
           to_string(second.origin->actor);
  }
  if (first.origin->stream == second.origin->stream) {
    return "both are in " + stream_name(first.origin->stream) +
           ", in the order of two replicas' calls";
  }
  return stream_name(second.origin->stream) + " does not wait for an event that " +
         stream_name(first.origin->stream) +
         " records after the work, and no merge or host wait is between";
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
