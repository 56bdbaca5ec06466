// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Judges the suites case by case, and compares with a table of the tests without a certificate:
//   SUITE.TEST LEVELS | CONDITION | ...
// with the levels of all backends and cases, and the conditions that are not met. A test without a
// row is CERTIFIED in every case. A test with parameters has one row.
//   judged_suites TABLE [PREFIX [--explain]]
// judges the tests whose names begin with PREFIX, and explains the first verdict of each level
// without a certificate.
// Exit status: 0; 1 if a test fails, or a test and its row differ; 2 for wrong arguments.
#include "belfry/sim/explore.h"
#include "judged/judged_test.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

using Table = std::map<std::string, std::string>;

Table read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("no table '" + path + "'");
  Table table;
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.find(' ');
    if (line.starts_with('#') || space == std::string::npos) continue;
    table[line.substr(0, space)] = line.substr(space + 1);
  }
  return table;
}

std::vector<std::string> tests_with(const std::string& prefix) {
  std::vector<std::string> names;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string name = std::string(suite.name()) + '.' + suite.GetTestInfo(j)->name();
      if (name.starts_with(prefix)) names.push_back(name);
    }
  }
  return names;
}

// The name of the row: of PREFIX/SUITE.TEST/PARAMETER without the parameter.
std::string row_of(const std::string& test) {
  const bool has_parameter = test.find('/') < test.find('.');
  return has_parameter ? test.substr(0, test.rfind('/')) : test;
}

// The verdicts about the tests by rows.
std::map<std::string, JudgedTest> judge(const std::vector<std::string>& tests) {
  std::map<std::string, JudgedTest> rows;
  for (const std::string& test : tests) rows[row_of(test)].add(judge_test(test));
  return rows;
}

struct Totals {
  std::uint64_t tests = 0, certified_tests = 0, cases = 0, backends = 0, certified = 0, wrong = 0;
};

// Compares a test with its row.
void report(const std::string& name, const JudgedTest& judged, Table& table, bool explains,
            Totals& totals) {
  ++totals.tests;
  totals.certified_tests += judged.is_certified() ? 1 : 0;
  totals.cases += judged.cases;
  totals.backends += judged.backends;
  totals.certified += judged.certified;
  const std::string expected = table.contains(name) ? table[name] : "CERTIFIED";
  const bool fits = expected == judged.text();
  table.erase(name);
  if (!judged.failure.empty()) std::cout << name << " fails: " << judged.failure << '\n';
  if (!fits) std::cout << name << ' ' << judged.text() << std::endl;
  for (const auto& [level, text] : judged.explained) {
    if (explains) std::cout << text << std::endl;
  }
  totals.wrong += fits && judged.failure.empty() ? 0 : 1;
}

int judge_all(const std::string& path, const std::string& prefix, bool explains) {
  Table table = read_table(path);
  Totals totals;
  for (const auto& [row, judged] : judge(tests_with(prefix))) {
    report(row, judged, table, explains, totals);
  }
  if (prefix.empty()) {
    for (const auto& [name, row] : table) std::cout << "no test has the row " << name << '\n';
    totals.wrong += table.size();
  }
  std::cout << totals.tests << " tests, " << totals.certified_tests << " CERTIFIED in all of "
            << totals.cases << " cases; " << totals.certified << " of " << totals.backends
            << " verdicts are CERTIFIED; " << totals.wrong << " tests differ from the table\n";
  return totals.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace belfry::testing

int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  if (count < 2) {
    std::cerr << "usage: judged_suites TABLE [PREFIX [--explain]]\n";
    return 2;
  }
  // Draws of a case are the same in each run: nobody refuses them.
  belfry::sim::detail::around_body = nullptr;
  // Watchdogs are threads, and other carriers have no schedule.
  ::setenv("BELFRY_WATCHDOG_S", "0", 1);
  ::setenv("BELFRY_TESTING_CARRIER", "fiber", 1);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  const std::string prefix = count > 2 ? arguments[2] : "";
  const bool explains = count > 3 && std::string(arguments[3]) == "--explain";
  return belfry::testing::judge_all(arguments[1], prefix, explains);
}
