// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The trace of the smallest failing case of a property.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/explore.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/verdict_property.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace belfry::testing::shrunk_case_test {
namespace {

// The mean of 0, ..., n - 1 is above 1 for n of 4 or more: the smallest case has 4 devices.
void mean_is_at_most_1(const sim::Options& options) {
  sim::Backend backend{options};
  MirroredStrategy strategy{backend};
  const auto means = strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kMean, double(replica.replica_id()));
  });
  RC_ASSERT(means[0] <= 1);
}

// What belfry and RapidCheck say about the property.
template <class Property>
std::string said_about(const Property& property) {
  setenv("BELFRY_TESTING_TRACES", "1", 1);
  setenv("TEST_TMPDIR", ::testing::TempDir().c_str(), 1);
  std::ostringstream said;
  std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
  rc::check(property);
  std::cerr.rdbuf(before);
  setenv("BELFRY_TESTING_TRACES", "0", 1);
  return said.str();
}

// The text behind `mark`, up to the end of its line.
std::string behind(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(ShrunkCase, HasATraceAndAReplay) {
  const std::string said = said_about(mean_is_at_most_1);
  const std::string path = behind(said, "trace of the failing case: ");
  ASSERT_NE(path, "") << said;
  EXPECT_TRUE(path.starts_with(::testing::TempDir()));
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  EXPECT_NE(line.find("\"devices\":4,"), std::string::npos) << line;
  std::string last;
  while (std::getline(in, line)) last = line;
  // The token of the trace is the token of the options that repeat the case.
  const std::string token = behind(last, "\"token\":\"").substr(0, 10);
  EXPECT_EQ(token.substr(0, 4), "bf1.");
  EXPECT_NE(behind(said, "the same case: ").find(token), std::string::npos) << said;
}

// With 2 devices or more the replica that runs last decides the result.
void last_replica_decides_nothing(const sim::Options& options) {
  RC_ASSERT_VERDICT(
      sim::explore(options,
                   [](sim::Backend& backend) {
                     MirroredStrategy strategy{backend};
                     int last = 0;
                     strategy.run([&](ReplicaContext& replica) { last = replica.replica_id(); });
                     return last;
                   }),
      kSampled);
}

TEST(ShrunkCase, OfAVerdictHasATraceOfTheFailingSchedule) {
  const std::string said = said_about(last_replica_decides_nothing);
  EXPECT_NE(behind(said, "trace of the failing case: "),
            behind(said_about(last_replica_decides_nothing), "trace of the failing case: "));
  std::ifstream in(behind(said, "trace of the failing case: "));
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find("\"devices\":2,"), std::string::npos) << said;
  EXPECT_NE(text.str().find("{\"verdict\":{\"name\":"), std::string::npos) << said;
  EXPECT_NE(text.str().find("\"level\":\"REFUTED\""), std::string::npos) << said;
  EXPECT_NE(behind(said, "the same case: ").find("Schedule::replay(\"bf1."), std::string::npos)
      << said;
}

TEST(ShrunkCase, IsOver) {
  said_about(mean_is_at_most_1);
  const std::string said =
      said_about([](const sim::Options& options) { const sim::Backend backend{options}; });
  EXPECT_EQ(said.find("trace of"), std::string::npos) << said;
}

}  // namespace
}  // namespace belfry::testing::shrunk_case_test
