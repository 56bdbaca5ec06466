// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/options.h"

#include <cstdint>

namespace belfry::sim {

/// The fewest devices. A backend without devices is for a process of a strategy over several
/// processes; the host alone holds values.
enum class LeastDevices : std::uint8_t { kNone, kOne };

/// `options`, if a backend can be made with them.
/// Throws: InvalidArgumentError (kNoDevices), (kInvalidArgument), with `site`.
Options checked_options(Options options, CallSite site, LeastDevices least = LeastDevices::kOne);

}  // namespace belfry::sim
