// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A watchdog for every program with property suites.
#include "belfry/testing/watchdog_environment.h"

namespace belfry::testing::watched_program {
namespace {

// [environment]
[[maybe_unused]] ::testing::Environment* const kWatchdog =
    ::testing::AddGlobalTestEnvironment(new WatchdogEnvironment);
// [environment]

}  // namespace
}  // namespace belfry::testing::watched_program
