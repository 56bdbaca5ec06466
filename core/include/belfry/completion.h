// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/event.h"
#include "belfry/tensor.h"

#include <memory>
#include <vector>

namespace belfry {

/// The end of several pieces of device work; made by `CrossReplicaContext::group` (SEM-125). A
/// value: copies stand for the same work. Must be destroyed before its backend. In a replica of a
/// failed run the constructor with devices, done, wait and delay throw ReplicaCancelled (SEM-7).
class Completion {
 public:
  /// No work: done from the start.
  Completion() = default;
  /// All work that is enqueued so far on the compute streams of `devices`, indices in the backend.
  /// Throws: InvalidArgumentError (kUnknownDevice).
  Completion(Backend& backend, const std::vector<int>& devices);

  /// Whether all work is done. The answer depends on the schedule. Order: does not block.
  bool done(CallSite site = CallSite::here()) const;
  /// Order: blocks the host until all work is done. Throws: DeviceError for failed work.
  void wait(CallSite site = CallSite::here()) const;
  /// Order: later work of the compute stream of `later` starts after all work is done; the host
  /// does not block. `later` is a device of the same backend.
  void delay(const Placement& later) const;

 private:
  // Shared by copies.
  std::vector<std::shared_ptr<Event>> events_;
};

}  // namespace belfry
