// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/watchdog.h"

#include <gtest/gtest.h>

#include <optional>

namespace belfry::testing {

/// A watchdog during all tests of a GoogleTest program, after
///
///     ::testing::AddGlobalTestEnvironment(new belfry::testing::WatchdogEnvironment);
class WatchdogEnvironment final : public ::testing::Environment {
 public:
  /// Starts the watchdog.
  void SetUp() override { watchdog_.emplace(); }
  /// Ends the watchdog.
  void TearDown() override { watchdog_.reset(); }

 private:
  std::optional<Watchdog> watchdog_;
};

}  // namespace belfry::testing
