// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/race_detector.h"

#include "races/race_text.h"

#include <algorithm>
#include <utility>

namespace belfry::sim::races {
namespace {

using Kind = Observation::Kind;

// The agents that `access` needs, and `other` does not.
std::vector<AgentId> agents_of(const BufferAccess& access, const BufferAccess& other) {
  std::vector<AgentId> agents;
  if (access.slot >= 0 && access.slot != other.slot) {
    agents.push_back({AgentId::Kind::kReplica, access.slot});
  }
  const std::int32_t stream = access.origin->stream;
  if (stream >= 0 && stream != other.origin->stream) {
    agents.push_back({AgentId::Kind::kStream, stream});
  }
  return agents;
}

bool is_of_host(const Observation& seen) { return seen.actor.agent.kind != AgentId::Kind::kStream; }

}  // namespace

void RaceDetector::observe(const Observation& seen) {
  if (!is_of_host(seen)) return;
  if (seen.kind == Kind::kOperation) return hosts_.pass(seen);
  HostAgent& agent = hosts_.see(seen);
  switch (seen.kind) {
    case Kind::kRunBegan:
      nests_in_replica_ = nests_in_replica_ || agent.slot != HostAgent::kCaller;
      break;
    case Kind::kAllocated:
      for (const Footprint& whole : seen.footprints) {
        Buffer& buffer = buffer_of(whole.resource);
        const std::uint32_t maker = actors_.of(seen.actor);
        if (maker >= buffers_made_.size()) buffers_made_.resize(maker + 1);
        buffer.maker = seen.actor;
        buffer.number = ++buffers_made_[maker];
      }
      break;
    case Kind::kSubmitted:
    case Kind::kRecorded:
    case Kind::kWaitQueued:
      note_submitted(seen, agent);
      break;
    case Kind::kHostWaited:
      note_waited(seen, agent);
      break;
    case Kind::kHostRead:
      note_read(seen, agent);
      break;
    case Kind::kQueried:
      if (seen.event.number != 0) use_event(seen, agent, false);
      break;
    case Kind::kVariableMade:
    case Kind::kVariableTaken:
      note_variable(seen, agent);
      break;
    default:
      break;
  }
}

// A resource is the number of a buffer, with the number of its device above
// (Allocation::resource).
RaceDetector::Buffer& RaceDetector::buffer_of(std::uint64_t resource) {
  constexpr int kDeviceShift = 40;
  const std::uint64_t device = resource >> kDeviceShift;
  const std::uint64_t number = resource & ((std::uint64_t{1} << kDeviceShift) - 1);
  if (device >= buffers_.size()) buffers_.resize(device + 1);
  std::vector<Buffer>& own = buffers_[device];
  if (number >= own.size()) own.resize(number + 1);
  return own[number];
}

void RaceDetector::note_submitted(const Observation& seen, HostAgent& agent) {
  if (seen.kind == Kind::kSubmitted) return add_item(seen, agent, {});
  use_event(seen, agent, seen.kind == Kind::kRecorded);
  if (seen.items.empty()) return;
  if (seen.kind == Kind::kWaitQueued) {
    return add_item(seen, agent, streams_.recorded(seen.event, seen.record));
  }
  Clock point;
  streams_.append(seen.items, agent, point);
  streams_.record(seen.event, seen.record, point);
}

void RaceDetector::add_item(const Observation& seen, const HostAgent& agent, Clock before) {
  const Happening point = streams_.append(seen.items, agent, before);
  BufferAccess access;
  access.lane = point.lane;
  access.number = point.number;
  access.phase = agent.phase;
  access.slot = agent.slot;
  add_touches(seen, access, before);
}

void RaceDetector::note_read(const Observation& seen, HostAgent& agent) {
  BufferAccess access;
  access.kind = BufferAccess::Kind::kHost;
  access.lane = agent.lane;
  access.number = hosts_.step(agent);
  access.phase = agent.phase;
  access.slot = agent.slot;
  add_touches(seen, access, agent.clock);
}

void RaceDetector::add_touches(const Observation& seen, BufferAccess access, const Clock& before) {
  if (seen.footprints.empty()) return;
  access.origin = &origins_.emplace_back(AccessOrigin{
      .actor = seen.actor,
      .stream = access.kind == BufferAccess::Kind::kItem ? seen.items.front().stream : -1,
      .name = seen.name,
      .site = seen.site,
      .code = seen.code});
  for (const Footprint& footprint : seen.footprints) {
    access.writes = footprint.mode == AccessMode::kWrite;
    access.begin = footprint.begin;
    access.end = footprint.end;
    add_touch(footprint.resource, access, before);
  }
}

void RaceDetector::add_touch(std::uint64_t resource, BufferAccess access, const Clock& before) {
  const auto shared = std::ranges::find(shared_, resource, &SharedBuffer::resource);
  if (shared != shared_.end()) {
    access.begin += shared->begin;
    access.end += shared->begin;
    return add_shared(access, before);
  }
  Buffer& buffer = buffer_of(resource);
  buffer.history.add(access, before, [&](const BufferAccess& first, const BufferAccess& second) {
    report(buffer, first, second);
  });
}

void RaceDetector::share(std::uint64_t resource, std::span<const std::byte> memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  shared_.push_back({resource, begin, begin + memory.size()});
}

void RaceDetector::touch(const watch::SharedAccess& seen) {
  Observation by;
  by.actor = seen.access.actor;
  HostAgent& agent = hosts_.see(by);
  const auto begin = reinterpret_cast<std::uintptr_t>(seen.address);
  const AccessOrigin& origin = origins_.emplace_back(AccessOrigin{.actor = seen.access.actor,
                                                                  .name = "the code",
                                                                  .site = seen.access.site,
                                                                  .code = seen.access.pc});
  add_shared({.kind = BufferAccess::Kind::kHost,
              .writes = seen.access.write,
              .begin = begin,
              .end = begin + seen.bytes,
              .lane = agent.lane,
              .number = HostOrder::step(agent),
              .phase = agent.phase,
              .slot = agent.slot,
              .origin = &origin},
             agent.clock);
}

void RaceDetector::add_shared(const BufferAccess& access, const Clock& before) {
  of_program_.add(access, before, [&](const BufferAccess& first, const BufferAccess& second) {
    report_shared(first, second);
  });
}

// Names the bytes as those of the buffer with the first common byte.
void RaceDetector::report_shared(BufferAccess first, BufferAccess second) {
  const std::uint64_t common = std::max(first.begin, second.begin);
  const auto has = [&](const SharedBuffer& shared) {
    return shared.begin <= common && common < shared.end;
  };
  const auto shared = std::ranges::find_if(shared_, has);
  if (shared == shared_.end()) return;
  for (BufferAccess* access : {&first, &second}) {
    access->begin = std::max(access->begin, shared->begin) - shared->begin;
    access->end = std::min(access->end, shared->end) - shared->begin;
  }
  report(buffer_of(shared->resource), first, second);
}

// A wait that throws says nothing about the end of the work.
void RaceDetector::note_waited(const Observation& seen, HostAgent& agent) {
  if (seen.event.number != 0) use_event(seen, agent, false);
  if (seen.failed) return;
  if (seen.items.empty()) {
    agent.clock.join(streams_.recorded(seen.event, seen.record));
  }
  for (const StreamItem& item : seen.items) {
    streams_.join_known(item.stream, agent, agent.clock);
  }
}

void RaceDetector::note_variable(const Observation& seen, HostAgent& agent) {
  if (seen.kind == Kind::kVariableMade) {
    hosts_.step(agent);
    HostAgent& made = variables_[seen.record];
    made = agent;
    made.clock.add(agent.lane, agent.steps);
    made.streams = streams_.submitted_by(agent);
    return;
  }
  const auto made = variables_.find(seen.record);
  if (made == variables_.end() || made->second.phase != agent.phase) return;
  agent.clock.join(made->second.clock);
  for (const auto& [stream, clock] : made->second.streams) agent.streams[stream].join(clock);
}

// Of the uses of an event, the records since the last phase and the waits since the last record
// matter. Uses of earlier phases come before the present phase.
void RaceDetector::use_event(const Observation& seen, HostAgent& agent, bool writes) {
  std::vector<EventUse>& uses = events_[seen.event];
  std::erase_if(uses, [&](const EventUse& use) { return use.phase != agent.phase; });
  EventUse now{writes,    agent.phase, agent.lane, hosts_.step(agent),
               seen.kind, seen.actor,  seen.site,  seen.code};
  for (const EventUse& use : uses) {
    if (!use.writes && !writes) continue;
    if (use.lane == agent.lane || agent.clock.at(use.lane) >= use.number) continue;
    keep(event_races_, {side_of_event(use.kind, use.actor, use.site, use.code),
                        side_of_event(now.kind, now.actor, now.site, now.code),
                        to_string(seen.event), "no merge and no variable orders the two calls"});
  }
  std::erase_if(
      uses, [&](const EventUse& use) { return use.lane == now.lane && (writes || !use.writes); });
  uses.push_back(std::move(now));
}

void RaceDetector::report(const Buffer& buffer, const BufferAccess& first,
                          const BufferAccess& second) {
  if (!keep(races_, race_of(buffer.maker, buffer.number, first, second))) return;
  agents_of_races_.insert(agents_of(first, second));
  agents_of_races_.insert(agents_of(second, first));
}

// Whether the race is new.
bool RaceDetector::keep(std::vector<Race>& races, Race race) {
  if (races.size() >= kMostRaces) return false;
  const Key key{race.first.agent + race.second.agent, race.first.operation, race.first.place,
                race.second.operation, race.second.place};
  if (!seen_.insert(key).second) return false;
  races.push_back(std::move(race));
  return true;
}

}  // namespace belfry::sim::races
