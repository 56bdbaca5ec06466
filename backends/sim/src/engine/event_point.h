// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"
#include "engine/failure.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace belfry::engine {

class CommandQueue;
struct HostWait;

/// A record of an event: a point in a queue. Waits hold the record that was the latest at their
/// call: a later record does not move them.
struct EventRecord {
  std::uint64_t generation = 0;  ///< How many records of the event there have been, with this one.
  bool reached = false;
  FailurePtr failure;                         ///< Of the work before the point.
  std::size_t waits = 0;                      ///< Items of queues that wait for it, at most.
  std::vector<CommandQueue*> waiting_queues;  ///< Has room for all of them.
  std::vector<HostWait*> waiting_hosts;
  sim::EventName event{};  ///< EventPoint::name.
};

/// An event: its latest record, if any. Plain data, guarded by the engine's lock: only the engine
/// reads and changes an event.
struct EventPoint {
  // Shared with the queue that will reach the record, and with all waits for the record.
  std::shared_ptr<EventRecord> latest;
  sim::EventName name{};  // For an observer; without one no event has a name.
};

}  // namespace belfry::engine
