// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/stream_order.h"

#include <memory>

namespace belfry {
class Device;
class Event;
class Stream;
}  // namespace belfry

namespace belfry::detail {

/// A point in a stream, for work of other streams to follow.
class StreamPoint {
 public:
  /// Not set so far. `device` is the device of the stream. Throws: as Device::create_event.
  explicit StreamPoint(Device& device);
  StreamPoint(const StreamPoint&) = delete;
  StreamPoint& operator=(const StreamPoint&) = delete;
  ~StreamPoint();

  /// Sets the point, once, to the end of the work that `stream` has now.
  /// Order: a record is enqueued.
  void set(Stream& stream);
  /// Later work of `stream` starts after the point, which is set.
  /// Order: a wait is enqueued, unless the stream follows the point already.
  void precede(Stream& stream) const;
  /// Whether both points are of one stream.
  bool is_beside(const StreamPoint& other) const { return ticks_.clock == other.ticks_.clock; }
  /// For waits of the host.
  Event& event() const { return *event_; }

 private:
  std::unique_ptr<Event> event_;
  StreamOrder::Ticks ticks_;
};

// Shared by the buffers whose accesses end at the point.
using StreamPointPtr = std::shared_ptr<const StreamPoint>;

}  // namespace belfry::detail
