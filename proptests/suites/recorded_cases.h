// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace belfry::testing {

/// Writes the number of cases of each property into the report of the program, as the member
/// `cases` of the report. The script tools/checks/suite_runs.py reads the member.
class RecordedCases final : public ::testing::Environment {
 public:
  /// Calls `cases` before the tests. A number below 1 is not written.
  explicit RecordedCases(std::function<int()> cases) : cases_(std::move(cases)) {}
  void SetUp() override {
    if (const int cases = cases_(); cases > 0) ::testing::Test::RecordProperty("cases", cases);
  }

 private:
  std::function<int()> cases_;
};

}  // namespace belfry::testing
