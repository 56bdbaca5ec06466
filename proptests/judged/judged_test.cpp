// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// How a test is judged. The sources of the suites are compiled without changes. A property calls
// RapidCheck's checkProperty, which the option --wrap of the linker replaces: in place of a search
// for a counterexample, each case is explored as a whole program (SEM-198). A case draws the same
// values in each run, since its generator is a function of a random state. A test that checks no
// property is a case itself: the program is a run of GoogleTest with the test alone.
#include "judged/judged_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <regex>
#include <sstream>
#include <string>

namespace belfry::testing {

using rc::detail::Property;
using rc::detail::TestMetadata;
using rc::detail::TestResult;

// The linker's name of the replacement.
TestResult judge_property(const Property& property, const TestMetadata& metadata) __asm__(
    "__wrap__ZN2rc6detail13checkPropertyERKNS_3GenINS0_15CaseDescriptionEEE"
    "RKNS0_12TestMetadataE");

namespace {

// The test in judgement; null outside of judge_test.
JudgedTest*& present() {
  static JudgedTest* test = nullptr;
  return test;
}

// The reason of NONE, without a line.
std::string reason_of(const sim::VerdictReport& report) {
  if (report.difference.starts_with("two runs of one schedule")) return "the body repeats";
  static const std::regex place(", [a-z0-9_]+\\.(cpp|h):[0-9]+");
  return std::regex_replace(report.difference, place, "");
}

std::string failure_of(const rc::detail::CaseResult& result) {
  std::ostringstream text;
  if (result.type == rc::detail::CaseResult::Type::Failure) text << result;
  return text.str();
}

// A run of the test alone. The text has the failures.
std::string run_once() {
  if (RUN_ALL_TESTS() == 0) return "";
  std::string text = "fails";
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const ::testing::TestResult& result = *suite.GetTestInfo(j)->result();
      for (int part = 0; part < result.total_part_count(); ++part) {
        text += std::string("\n") + result.GetTestPartResult(part).message();
      }
    }
  }
  return text;
}

}  // namespace

void JudgedTest::judge(const std::function<std::string()>& run_case) {
  ++cases;
  backends_made() = 0;
  failure += failure.empty() ? run_case() : "";
  if (backends_made() > kMostBackends) {
    too_many = true;
    return;
  }
  const auto judged = sim::explore_program([&] {
    std::string found = run_case();
    if (!found.empty() && failure.empty()) failure = found;
    return found;
  });
  for (const sim::JudgedBackend& backend : judged) {
    const sim::VerdictReport& report = backend.verdict.report();
    ++backends;
    levels.insert(report.level);
    if (report.level == sim::VerdictLevel::kCertified) {
      ++certified;
      continue;
    }
    if (!explained.contains(report.level)) {
      explained[report.level] = to_string(backend.site) + ": " + explain(backend.verdict);
    }
    if (report.level == sim::VerdictLevel::kNone) unmet.insert(reason_of(report));
    for (const sim::Condition& condition : report.conditions) {
      if (!condition.holds) unmet.insert(condition.name);
    }
  }
}

void JudgedTest::add(const JudgedTest& other) {
  cases += other.cases;
  backends += other.backends;
  certified += other.certified;
  levels.insert(other.levels.begin(), other.levels.end());
  unmet.insert(other.unmet.begin(), other.unmet.end());
  explained.insert(other.explained.begin(), other.explained.end());
  too_many = too_many || other.too_many;
  if (failure.empty()) failure = other.failure;
}

std::string JudgedTest::text() const {
  if (too_many)
    return "not explored: more than " + std::to_string(kMostBackends) + " backends in a case";
  if (backends == 0) return "no backend of the simulator";
  std::string text;
  for (const sim::VerdictLevel level : levels) {
    text += (text.empty() ? "" : " ") + std::string(to_string(level));
  }
  for (const std::string& condition : unmet) text += " | " + condition;
  return text;
}

TestResult judge_property(const Property& property, const TestMetadata&) {
  const rc::detail::TestParams& params = rc::detail::configuration().testParams;
  rc::Random random(params.seed);
  JudgedTest& test = *present();
  test.is_property = true;
  for (int i = 0; i < params.maxSuccess; ++i) {
    const rc::Random own = random.split();
    const int size = params.maxSize * i / params.maxSuccess;
    test.judge([&] { return failure_of(property(own, size).value().result); });
  }
  rc::detail::SuccessResult success;
  success.numSuccess = params.maxSuccess;
  return success;
}

JudgedTest judge_test(const std::string& name) {
  JudgedTest judged;
  present() = &judged;
  GTEST_FLAG_SET(filter, name);
  const std::string failure = run_once();
  if (judged.failure.empty()) judged.failure = failure;
  if (!judged.is_property) judged.judge(run_once);
  present() = nullptr;
  return judged;
}

}  // namespace belfry::testing
