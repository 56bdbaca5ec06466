// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/cluster.h"

namespace belfry::sim {

/// The options with `hosts` and `devices_of` for all hosts. Throws: as Cluster.
ClusterOptions checked_options(ClusterOptions options, CallSite site);

}  // namespace belfry::sim
