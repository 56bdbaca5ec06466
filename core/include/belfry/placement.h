// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

namespace belfry {

class Backend;
class Device;

/// A device of a backend: the location of a tensor.
struct Placement {
  Backend* backend = nullptr;
  int device = 0;

  bool operator==(const Placement&) const = default;
};

/// The device of the current replica, of the component being updated, or of replica 0 in
/// cross-replica context (SEM-16).
/// Throws: ContextError (kWrongContext) outside every strategy.
Placement current_placement(CallSite site = CallSite::here());

/// The device of a placement. Throws: InvalidArgumentError (kUnknownDevice) if the backend lacks
/// the device; ReplicaCancelled in a replica of a failed run (SEM-7).
Device& device_of(const Placement& placement);

}  // namespace belfry
