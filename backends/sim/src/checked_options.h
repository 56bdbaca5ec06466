// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/options.h"

namespace belfry::sim {

/// `options`, if a backend can be made with them.
/// Throws: InvalidArgumentError (kNoDevices), (kInvalidArgument), with `site`.
Options checked_options(Options options, CallSite site, bool may_lack_devices = false);

}  // namespace belfry::sim
