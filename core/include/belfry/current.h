// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/device_spec.h"
#include "belfry/strategy.h"

#include <optional>

/// The current contexts, for code without a context parameter (SEM-16). Exactly one of a replica
/// context and a cross-replica context is current at any time. Outside every strategy the only
/// replica of the default strategy is current. A thread started by user code begins outside every
/// strategy.
namespace belfry {

/// The strategy of the current run, merge or scope; outside all of these the default strategy.
Strategy& current_strategy();
/// Whether a strategy other than the default strategy is current.
bool has_strategy();
/// The current replica's context; null in cross-replica context.
ReplicaContext* current_replica();
/// The current cross-replica context; null inside a replica.
CrossReplicaContext* current_cross_replica();
/// The device of the current replica, of the component being updated, or of replica 0.
DeviceSpec current_device();
/// The device inside a function called for each component, device or element (SEM-41); else
/// nothing.
std::optional<DeviceSpec> current_update_device();

}  // namespace belfry
