// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/stream_order.h"

#include <algorithm>
#include <utility>

namespace belfry::sim::races {

Happening StreamOrder::append(std::span<const StreamItem> items, const HostAgent& agent,
                              Clock& clock) {
  // First the last item of the agent itself: a clock without further owners is changed in place.
  for (const StreamItem& item : items) {
    clock.join(std::move(lane_of(settle(item.stream, agent.phase), agent.slot).last));
  }
  clock.join(agent.clock);
  for (const StreamItem& item : items) join_known(item.stream, agent, clock);
  if (agent.steps != 0) clock.add(agent.lane, agent.steps);
  Happening point;
  for (const StreamItem& item : items) {
    StreamLane& lane = lane_of(at(item.stream), agent.slot);
    clock.add(lane.lane, ++lane.items);
    if (point.number == 0) point = {lane.lane, lane.items};
  }
  clock.end_at(point);
  for (const StreamItem& item : items) {
    StreamLane& lane = lane_of(at(item.stream), agent.slot);
    lane.last = clock;
    lane.phase = agent.phase;
  }
  return point;
}

void StreamOrder::join_known(std::int32_t stream, const HostAgent& agent, Clock& clock) {
  const Stream& own = settle(stream, agent.phase);
  clock.join(own.settled);
  const auto known = std::ranges::equal_range(own.lanes, agent.slot, {}, &StreamLane::slot);
  for (const StreamLane& lane : known) {
    if (lane.phase == agent.phase) clock.join(lane.last);
  }
  const auto inherited = agent.streams.find(stream);
  if (inherited != agent.streams.end()) clock.join(inherited->second);
}

void StreamOrder::record(const EventName& event, std::uint64_t record, const Clock& clock) {
  std::vector<Record>& records = records_[event];
  if (records.size() == kRecords) records.erase(records.begin());
  records.push_back({record, clock});
}

Clock StreamOrder::recorded(const EventName& event, std::uint64_t record) {
  const std::vector<Record>& records = records_[event];
  const auto found = std::ranges::find(records, record, &Record::number);
  return found == records.end() ? Clock() : found->clock;
}

std::map<std::int32_t, Clock> StreamOrder::submitted_by(const HostAgent& agent) const {
  std::map<std::int32_t, Clock> submitted = agent.streams;
  for (std::size_t i = 0; i < streams_.values().size(); ++i) {
    for (const StreamLane& lane : streams_.values()[i].lanes) {
      if (lane.slot != agent.slot || lane.phase != agent.phase) continue;
      submitted[static_cast<std::int32_t>(streams_.numbers()[i])].join(lane.last);
    }
  }
  return submitted;
}

// At the first look in a phase, the items of earlier phases come before all later items.
StreamOrder::Stream& StreamOrder::settle(std::int32_t stream, std::uint32_t phase) {
  Stream& own = at(stream);
  if (own.phase == phase) return own;
  for (const StreamLane& lane : own.lanes) {
    if (lane.phase >= own.phase) own.settled.join(lane.last);
  }
  own.phase = phase;
  return own;
}

StreamOrder::StreamLane& StreamOrder::lane_of(Stream& stream, std::int32_t slot) {
  const auto at = std::ranges::lower_bound(stream.lanes, slot, {}, &StreamLane::slot);
  if (at != stream.lanes.end() && at->slot == slot) return *at;
  return *stream.lanes.insert(at, {.slot = slot, .lane = lanes_++});
}

}  // namespace belfry::sim::races
