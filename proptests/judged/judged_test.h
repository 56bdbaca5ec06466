// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/explore_program.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace belfry::testing {

/// The verdicts about all backends of a test, over all cases of a property.
struct JudgedTest {
  bool is_property = false;
  std::uint64_t cases = 0;     ///< Of a property; 1 of a test without cases.
  std::uint64_t backends = 0;  ///< Explored backends.
  std::uint64_t certified = 0;
  std::set<sim::VerdictLevel> levels{};
  std::set<std::string> unmet{};  ///< Conditions that a backend does not meet, in words.
  /// `explain` of the first verdict of each level without a certificate.
  std::map<sim::VerdictLevel, std::string> explained{};
  bool too_many = false;  ///< A case makes more than kMostBackends backends.
  std::string failure{};  ///< The text of the first failure; empty if all cases pass.

  /// Explores a case: a program that returns the text of its failure, or an empty text.
  void judge(const std::function<std::string()>& run_case);
  /// Adds the verdicts of the same test with other parameters.
  void add(const JudgedTest& other);
  bool is_certified() const { return backends == certified && backends != 0; }
  /// `RACY SAMPLED | events have an order | ...`: the levels and the conditions.
  std::string text() const;
};

/// The exploration of a case with n backends takes n explorations of n backends: cases with more
/// are not explored.
inline constexpr int kMostBackends = 40;
/// Counts the backends that the factory has made.
int& backends_made();

/// Runs the test `name` of the program: of a property each case, as RC_PARAMS says, and else the
/// whole test. Context: outside of tests.
JudgedTest judge_test(const std::string& name);

}  // namespace belfry::testing
