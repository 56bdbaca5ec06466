// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace belfry::sim::testing {

/// Calls `program` on every carrier, and under 60 schedules, the serial schedule first, with copies
/// that share bytes in half of them.
inline void under_schedules(const std::function<void(Backend&)>& program) {
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Options options;
    options.devices = 2;
    options.seed = static_cast<std::uint64_t>(seed);
    if (seed == 0) options.schedule = Schedule::fixed();
    if (seed % 10 == 3) options.carrier = Carrier::kBaton;
    if (seed % 10 == 6) options.carrier = Carrier::kConcurrent;
    options.share_copies = seed % 2 == 0;
    Backend backend(options);
    program(backend);
  }
}

}  // namespace belfry::sim::testing
