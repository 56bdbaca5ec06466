// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "belfry/detail/device_work.h"
#include "belfry/tensor.h"

#include <memory>
#include <vector>

namespace belfry {

/// Tells when several pieces of device work are done; made by `CrossReplicaContext::group`
/// (SEM-125):
///
///     const Completion done = cross.group(gradients);
///     done.wait();    // Blocks the host.
///
/// A value: copies stand for the same work. Destroy it before its backend. In a replica of a failed
/// run the constructor with devices, done, wait and delay throw ReplicaCancelled (SEM-7).
class Completion {
 public:
  /// No work: done from the start.
  Completion() = default;
  /// All work that is enqueued so far on the compute streams of `devices`, indices in the backend.
  /// Throws: InvalidArgumentError (kUnknownDevice).
  Completion(Backend& backend, const std::vector<int>& devices)
      : Completion(backend, detail::DeviceWork{{devices.begin(), devices.end()}, {}}) {}
  /// The same, and the work of other streams.
  Completion(Backend& backend, detail::DeviceWork work);

  /// Whether all work is done now; the answer depends on the schedule.
  /// Order: does not block.
  bool done(CallSite site = CallSite::here()) const;
  /// Waits for all work.
  /// Order: blocks the host until all work is done.
  /// Throws: DeviceError for failed work.
  void wait(CallSite site = CallSite::here()) const;
  /// Makes a device wait: later work of the compute stream of `later`, a device of the same
  /// backend, starts after all work is done.
  /// Order: does not block the host.
  void delay(const Placement& later) const;

 private:
  // Shared by copies; the points by buffers, too.
  std::vector<detail::StreamPointPtr> points_;
};

}  // namespace belfry
