// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/event.h"
#include "belfry/placement.h"

#include <memory>
#include <vector>

namespace belfry {

/// The moment at which several pieces of device work are all done; made by
/// `CrossReplicaContext::group` (SEM-125). A value: copies are the same moment. Ends before its
/// backend does. In a replica whose run has failed, what makes one, asks it or waits for it throws
/// ReplicaCancelled (SEM-7).
class Completion {
 public:
  /// Done already.
  Completion() = default;
  /// Done when all work that is enqueued so far on the compute streams of these devices is done.
  /// `devices` are indices in the backend. Throws: InvalidArgumentError (kUnknownDevice).
  Completion(Backend& backend, const std::vector<int>& devices);

  /// Whether all of it is done. What it says depends on the schedule. Order: does not block.
  bool done() const;
  /// Order: blocks the host until all of it is done. Throws: DeviceError for what failed.
  void wait() const;
  /// Order: later work of that device's compute stream starts when all of it is done; the host does
  /// not block. `later` is a device of the same backend.
  void delay(const Placement& later) const;

 private:
  // Shared by copies.
  std::vector<std::shared_ptr<Event>> events_;
};

}  // namespace belfry
