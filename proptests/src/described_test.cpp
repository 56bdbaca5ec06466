// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/described.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::described_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr CallSite kHere{"train.cc", 11};

// RapidCheck's report on a property.
template <class Property>
std::string report_on(Property property) {
  const auto result = rc::detail::checkTestable(property);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  return text.str();
}

// A run that fails on the simulator, whatever the arguments.
void fail_on_replica_1(std::uint16_t seed) {
  sim::Backend backend{{.devices = 2, .seed = seed}};
  MirroredStrategy strategy{backend};
  strategy.run([](ReplicaContext& replica) {
    if (replica.replica_id() == 1) Tensor<float>::from({3}, {1.0F}, kHere);
  });
}

TEST(Described, ErrorsOfBelfryHaveTheirSiteTheirSeedAndTheirToken) {
  const auto property = [](const std::vector<int>&, std::uint16_t seed) {
    fail_on_replica_1(seed);
  };
  EXPECT_THAT(report_on(property), AllOf(HasSubstr("BF-021"), Not(HasSubstr("replay: "))));
  EXPECT_THAT(report_on(described(property)),
              AllOf(HasSubstr("BF-021 1 values for shape [3]\n  at train.cc:11\n"),
                    HasSubstr("\n  replica 1  train.cc:11  threw this before its first merge\n"),
                    HasSubstr("\n  seed: 0\n  replay: bf1.")));
}

TEST(Described, OtherExceptionsAndResultsStay) {
  EXPECT_THAT(report_on(described([](int) { throw std::runtime_error("mine"); })),
              HasSubstr("Exception thrown with message:\nmine"));
  EXPECT_THAT(report_on(described([](int value) { RC_ASSERT(value != value); })),
              HasSubstr("RC_ASSERT(value != value)"));
  EXPECT_THAT(report_on(described([] { return true; })), HasSubstr("OK"));
}

}  // namespace
}  // namespace belfry::testing::described_test
