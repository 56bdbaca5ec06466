// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/driver.h"
#include "rules_test/calls_test.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// Shared by the tests of the driver.
namespace belfry::driver::test {

/// The latest report of the driver, or nothing.
inline std::string last_report(const sim::SimulatedDriver& machine) {
  const std::vector<std::string> reports = machine.reports();
  return reports.empty() ? "" : reports.back();
}

}  // namespace belfry::driver::test
