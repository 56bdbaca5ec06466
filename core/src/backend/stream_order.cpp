// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/stream_order.h"

#include "belfry/backend/device.h"
#include "belfry/detail/stream_point.h"

#include <algorithm>

namespace belfry::detail {

std::shared_ptr<StreamOrder::Clock> StreamOrder::clock() {
  const std::lock_guard lock(mutex_);
  if (clock_ == nullptr) clock_ = std::make_shared<Clock>(0);
  return clock_;
}

bool StreamOrder::follows(const Ticks& point) {
  const std::lock_guard lock(mutex_);
  if (point.clock == clock_) return true;
  const auto latest = std::ranges::find(followed_, point.clock, &Ticks::clock);
  return latest != followed_.end() && (latest->begin > point.end || latest->begin == point.begin);
}

void StreamOrder::follow(const Ticks& point) {
  const std::lock_guard lock(mutex_);
  const auto latest = std::ranges::find(followed_, point.clock, &Ticks::clock);
  if (latest == followed_.end()) {
    // Ended streams without points are asked for no more.
    std::erase_if(followed_, [](const Ticks& own) { return own.clock.use_count() == 1; });
    followed_.push_back(point);
  } else if (latest->begin < point.begin) {
    *latest = point;
  }
}

StreamPoint::StreamPoint(Device& device) : event_(device.create_event()) {}

StreamPoint::~StreamPoint() = default;

void StreamPoint::set(Stream& stream) {
  ticks_.clock = stream.order_.clock();
  ticks_.begin = ++*ticks_.clock;
  stream.record(*event_);
  ticks_.end = ++*ticks_.clock;
}

// No lock is held while the wait is enqueued: a replica may be suspended meanwhile.
void StreamPoint::precede(Stream& stream) const {
  if (stream.order_.follows(ticks_)) return;
  stream.wait(*event_);
  stream.order_.follow(ticks_);
}

}  // namespace belfry::detail
