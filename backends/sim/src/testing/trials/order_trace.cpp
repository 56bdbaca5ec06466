// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/order_trace.h"

#include <algorithm>

namespace belfry::sim::testing {
namespace {

using Kind = Observation::Kind;

std::string agent_of(int replica) {
  return to_string(Actor{.agent = {AgentId::Kind::kReplica, replica}, .run = 1});
}

bool touches(std::uint64_t begin, std::uint64_t end, const RaceSide& side) {
  return side.end == 0 || (begin < side.end && side.begin < end);
}

}  // namespace

void OrderTrace::observe(const Observation& seen) {
  switch (seen.kind) {
    case Kind::kAllocated:
      buffers_[seen.footprints.front().resource] =
          "buffer " + std::to_string(next(seen.actor, 'b')) + " of " + to_string(seen.actor);
      return;
    case Kind::kSubmitted: {
      const Access access{.agent = to_string(seen.actor), .number = next(seen.actor, 'w')};
      // The name of the kernel type in public_state.cpp.
      working_[seen.items.front()] = {access, seen.of_user && seen.name.ends_with("AddToCell")};
      return;
    }
    case Kind::kTookEffect: {
      const auto found = working_.find(seen.items.front());
      if (found == working_.end()) return;
      add_footprints(seen, found->second.first);
      if (found->second.second) add_body(found->second.first);
      return;
    }
    case Kind::kHostRead:
      return add_footprints(
          seen, {.agent = to_string(seen.actor), .kind = 'r', .number = next(seen.actor, 'r')});
    case Kind::kRecorded:
    case Kind::kWaitQueued:
      return add_event(seen, seen.kind == Kind::kRecorded);
    case Kind::kHostWaited:
      if (seen.event.number != 0) add_event(seen, false);
      return;
    default:
      return;
  }
}

void OrderTrace::add_footprints(const Observation& seen, const Access& as) {
  for (const Footprint& footprint : seen.footprints) {
    Access access = as;
    access.subject = buffers_[footprint.resource];
    access.writes = access.may_write = footprint.mode == AccessMode::kWrite;
    access.begin = footprint.begin;
    access.end = footprint.end;
    accesses_.push_back(std::move(access));
  }
}

void OrderTrace::add_event(const Observation& seen, bool writes) {
  accesses_.push_back({.agent = to_string(seen.actor),
                       .subject = to_string(seen.event),
                       .kind = 'e',
                       .number = next(seen.actor, 'e'),
                       .writes = writes,
                       .may_write = writes});
}

void OrderTrace::take(int replica, std::size_t position) {
  const PublicStep& step = steps_[static_cast<std::size_t>(replica)][position];
  const auto touch = touch_of(step);
  if (!touch || touch->in_kernel) return;
  accesses_.push_back({.agent = agent_of(replica),
                       .subject = "captured " + std::to_string(touch->object),
                       .kind = 's',
                       .number = position,
                       .writes = touch->writes,
                       .may_write = touch->may_write});
}

// The k-th body of a replica belongs to its k-th launch: the launches are in one stream.
void OrderTrace::add_body(const Access& work) {
  for (std::size_t id = 0; id < steps_.size(); ++id) {
    if (agent_of(static_cast<int>(id)) != work.agent) continue;
    const Actor actor{.agent = {AgentId::Kind::kReplica, static_cast<std::int32_t>(id)}, .run = 1};
    std::size_t before = bodies_[actor]++;
    for (const PublicStep& step : steps_[id]) {
      const auto touch = touch_of(step);
      if (!touch || !touch->in_kernel || before-- != 0) continue;
      accesses_.push_back({.agent = work.agent,
                           .subject = "captured " + std::to_string(touch->object),
                           .kind = 'k',
                           .number = bodies_[actor],
                           .writes = true,
                           .may_write = true});
      return;
    }
  }
}

void OrderTrace::end_schedule() {
  for (std::size_t j = 1; j < accesses_.size(); ++j) {
    const Access& second = accesses_[j];
    for (std::size_t i = 0; i < j; ++i) {
      const Access& first = accesses_[i];
      if (first.subject != second.subject) continue;
      if (!first.may_write && !second.may_write) continue;
      if (first.begin < second.end && second.begin < first.end) orders_.insert({first, second});
    }
  }
  accesses_.clear();
  counts_.clear();
  buffers_.clear();
  working_.clear();
  bodies_.clear();
}

bool OrderTrace::reverses(const Race& race) const {
  const bool on_host = race.subject.ends_with("of host memory");
  const auto fits = [&](const Access& access, const RaceSide& side) {
    if (access.agent != side.agent) return false;
    if (on_host)
      return access.subject.starts_with("captured") && (!side.writes || access.may_write);
    return access.subject == race.subject && access.writes == side.writes &&
           touches(access.begin, access.end, side);
  };
  return std::ranges::any_of(orders_, [&](const Pair& pair) {
    const auto& [one, two] = pair;
    const bool either = (fits(one, race.first) && fits(two, race.second)) ||
                        (fits(two, race.first) && fits(one, race.second));
    return either && has_both(pair);
  });
}

std::string OrderTrace::reversed_pair() const {
  const auto found = std::ranges::find_if(orders_, [&](const Pair& pair) {
    return (pair.first.writes || pair.second.writes) && has_both(pair);
  });
  if (found == orders_.end()) return "";
  return found->first.agent + " and " + found->second.agent + ": " + found->first.subject;
}

}  // namespace belfry::sim::testing
