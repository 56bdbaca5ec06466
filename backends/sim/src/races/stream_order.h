// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"
#include "log/numbered_values.h"
#include "races/clock.h"
#include "races/event_values.h"
#include "races/host_order.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace belfry::sim::races {

/// The order of the items of streams in every schedule. The items that a host agent submits to a
/// stream are a lane. Items of a stream are in order if their submissions are: in one lane, or in
/// different phases, or by the making of a variable. Records come before their waits, and the parts
/// of a collective are a single point.
class StreamOrder {
 public:
  explicit StreamOrder(Lane& lanes) : lanes_(lanes) {}

  /// Appends an item of `agent` to the streams of `items`. `clock` is everything before the item
  /// for reasons besides streams and agent, and becomes everything up to the item. Returns
  /// the item, of a collective the part in the first stream.
  Happening append(std::span<const StreamItem> items, const HostAgent& agent, Clock& clock);
  /// Adds everything in `stream` that comes before a present step of `agent`.
  void join_known(std::int32_t stream, const HostAgent& agent, Clock& clock);
  /// Keeps the point of a record, and returns everything up to the record later.
  void record(const EventName& event, std::uint64_t record, const Clock& clock);
  Clock recorded(const EventName& event, std::uint64_t record);
  /// The items that `agent` has submitted in the present phase, by stream.
  std::map<std::int32_t, Clock> submitted_by(const HostAgent& agent) const;

 private:
  struct StreamLane {
    std::int32_t slot = 0;  // Of the submitter.
    Lane lane = 0;
    std::uint32_t phase = 0;  // Of the last item.
    std::uint32_t items = 0;
    Clock last{};  // Up to the last item.
  };
  struct Stream {
    std::uint32_t phase = 0;          // Of the last look.
    Clock settled{};                  // All items of phases before.
    std::vector<StreamLane> lanes{};  // By slot.
  };
  // A host that waits may name a record before the latest: of the last records all are known.
  static constexpr std::size_t kRecords = 8;
  struct Record {
    std::uint64_t number = 0;
    Clock clock{};
  };

  Stream& settle(std::int32_t stream, std::uint32_t phase);
  StreamLane& lane_of(Stream& stream, std::int32_t slot);

  Stream& at(std::int32_t stream) { return streams_[static_cast<std::size_t>(stream)]; }

  Lane& lanes_;
  NumberedValues<Stream> streams_;  // By stream.
  EventValues<std::vector<Record>> records_;
};

}  // namespace belfry::sim::races
