// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/device_spec.h"
#include "belfry/strategy.h"

#include <optional>

/// For code deep in a call stack that was not handed a context: what is current on this carrier
/// (SEM-16). Exactly one of a replica and a cross-replica context is current at any time; outside
/// every strategy it is the only replica of the default strategy. A thread that user code starts
/// begins outside every strategy.
namespace belfry {

/// The strategy whose run, merge or scope this is; the default strategy outside all of them.
Strategy& current_strategy();
/// Whether a strategy other than the default one is current.
bool has_strategy();
/// The current replica's context; null in cross-replica context.
ReplicaContext* current_replica();
/// The current cross-replica context; null inside a replica.
CrossReplicaContext* current_cross_replica();
/// The device of the current replica, of the component being updated, or of replica 0.
DeviceSpec current_device();
/// The device inside a function called for each component, device or element (SEM-41); or nothing.
std::optional<DeviceSpec> current_update_device();

}  // namespace belfry
