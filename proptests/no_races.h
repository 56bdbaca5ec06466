// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/driver.h"

#include <gtest/gtest.h>

#include <string>

namespace belfry::testing {

/// Fails the tests if a driver has reported a race: no order of streams may lack an event.
class NoRaces final : public ::testing::Environment {
 public:
  explicit NoRaces(const sim::SimulatedDriver& driver) : driver_(driver) {}
  void TearDown() override {
    for (const std::string& report : driver_.reports()) {
      EXPECT_FALSE(report.starts_with("race for ")) << report;
    }
  }

 private:
  const sim::SimulatedDriver& driver_;
};

}  // namespace belfry::testing
