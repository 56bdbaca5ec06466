// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "races/stream_order.h"

#include <algorithm>
#include <utility>

namespace belfry::sim::races {

StreamOrder::Point StreamOrder::append(std::span<const StreamItem> items, const HostAgent& agent,
                                       Clock& clock) {
  // First the last item of the agent itself: a clock without further owners is changed in place.
  for (const StreamItem& item : items) {
    clock.join(std::move(lane_of(settle(item.stream, agent.phase), agent.slot).last));
  }
  clock.join(agent.clock);
  for (const StreamItem& item : items) join_known(item.stream, agent, clock);
  if (agent.steps != 0) clock.set(agent.lane, agent.steps);
  Point point;
  for (const StreamItem& item : items) {
    StreamLane& lane = lane_of(at(item.stream), agent.slot);
    clock.set(lane.lane, ++lane.items);
    if (point.number == 0) point = {lane.lane, lane.items};
  }
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
  for (const StreamLane& lane : own.lanes) {
    if (lane.slot == agent.slot && lane.phase == agent.phase) clock.join(lane.last);
  }
  const auto inherited = agent.streams.find(stream);
  if (inherited != agent.streams.end()) clock.join(inherited->second);
}

void StreamOrder::record(const EventName& event, std::uint64_t record, const Clock& clock) {
  std::vector<Record>& records = records_[event];
  if (records.size() == kRecords) records.erase(records.begin());
  records.push_back({record, clock});
}

Clock StreamOrder::recorded(const EventName& event, std::uint64_t record) const {
  const auto records = records_.find(event);
  if (records == records_.end()) return {};
  const auto found = std::ranges::find(records->second, record, &Record::number);
  return found == records->second.end() ? Clock() : found->clock;
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
  const auto found = std::ranges::find(stream.lanes, slot, &StreamLane::slot);
  if (found != stream.lanes.end()) return *found;
  stream.lanes.push_back({.slot = slot, .lane = lanes_++});
  return stream.lanes.back();
}

}  // namespace belfry::sim::races
