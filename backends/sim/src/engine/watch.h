// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "belfry/sim/observer.h"

#include <cstdint>
#include <map>
#include <mutex>

namespace belfry::engine {

/// An observer, with the state that names things to the observer: the acting replica, merge or
/// host, and the numbers of runs and events.
class Watch {
 public:
  explicit Watch(sim::Observer& observer) : observer_(observer) {}

  /// Sets the executor whose runs tell the place of host code. `executor` carries the runs itself.
  void attach(const Executor* executor) { executor_ = executor; }
  /// The replica or merge that the caller is in, or the host.
  sim::Actor actor() const;
  /// Passes `observation` on.
  void tell(const sim::Observation& observation);
  /// The number of a run that begins. Throws: nothing.
  std::uint32_t begin_run();
  /// A name for an event that the caller makes. Throws: std::bad_alloc.
  sim::EventName name_event();

 private:
  sim::Observer& observer_;
  const Executor* executor_ = nullptr;
  std::mutex mutex_;
  std::uint32_t runs_ = 0;
  std::map<sim::Actor, std::uint32_t> events_;  // How many each has made.
};

}  // namespace belfry::engine
