// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "processes/suites_over_processes.h"

#include "belfry/strategies.h"
#include "belfry/testing/strategy_factory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

namespace belfry::testing {
namespace {

std::set<std::string> names_of_tests() {
  std::set<std::string> names;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      names.insert(std::string(suite.name()) + '.' + suite.GetTestInfo(j)->name());
    }
  }
  return names;
}

const char* wrong_strategy() { return std::getenv("BELFRY_WRONG_STRATEGY"); }

}  // namespace

// Rows are `SUITE.TEST | REASON`.
void leave_out_tests() {
  const char* const elsewhere = std::getenv("BELFRY_LEFT_OUT_TESTS");
  const std::string path = elsewhere != nullptr ? elsewhere : BELFRY_LEFT_OUT_TESTS;
  std::ifstream table(path);
  if (!table) throw std::runtime_error("no table " + path);
  const std::set<std::string> known = names_of_tests();
  std::string filter = GTEST_FLAG_GET(filter);
  filter += filter.find('-') == std::string::npos ? '-' : ':';
  for (std::string row; std::getline(table, row);) {
    if (row.empty() || row.front() == '#') continue;
    const std::size_t bar = row.find(" | ");
    if (bar == std::string::npos) throw std::runtime_error("no reason in the row: " + row);
    const std::string name = row.substr(0, bar);
    if (!known.contains(name)) throw std::runtime_error("no test has the name of the row: " + row);
    filter += name + ':';
  }
  GTEST_FLAG_SET(filter, filter);
}

rc::Gen<std::vector<int>> device_counts_of(int processes) {
  // A wrong strategy has no processes without devices: its mistakes come from the suites.
  const int least = wrong_strategy() == nullptr ? 0 : 1;
  const auto each = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, 5));
  return rc::gen::suchThat(
      rc::gen::container<std::vector<int>>(static_cast<std::size_t>(processes), each),
      [](const std::vector<int>& counts) {
        return std::accumulate(counts.begin(), counts.end(), 0) > 0;
      });
}

const ProcessStrategies& suite_strategies() {
  static const ProcessStrategies right =
      process_strategies<MultiWorkerMirroredStrategy>("several workers");
  static const ProcessStrategies alone{
      "each alone", [](Backend& backend, ProcessGroup&, const StrategyOptions& options) {
        return std::make_unique<MirroredStrategy>(backend, options);
      }};
  const char* const wrong = wrong_strategy();
  if (wrong == nullptr) return right;
  if (std::string(wrong) == "each_alone") return alone;
  throw std::runtime_error(std::string("no wrong strategy has the name ") + wrong);
}

// Suites over processes make the strategies of suite_strategies(). Tensors of several processes
// travel with the group: no communicator of a process reduces them.
const StrategyFactory& strategy_factory() {
  static const StrategyOf<MirroredStrategy> factory("several workers", {.uses_collectives = false});
  return factory;
}

}  // namespace belfry::testing
