// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "training.h"

#include <belfry/sim/explore.h>
#include <belfry/strategies.h>
#include <belfry/testing/certified.h>
#include <belfry/testing/same_as_one_replica.h>
#include <belfry/testing/verdict_property.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

using namespace belfry;

namespace {

const Batch kBatch{1, 2, 3, 4, 5, 6, 7, 8};

TEST(Training, IsCertified) {
  const sim::Verdict verdict = sim::explore({.devices = 2}, [](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    return train(strategy, kBatch);
  });
  EXPECT_CERTIFIED(verdict);
  EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "[3.5, 3.5]");  // 8 - 36 / 8
}

TEST(Captured, TotalsAreRefutedWithTheLine) {
  const sim::Verdict verdict = sim::explore({.devices = 2}, [](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    return captured_total(strategy);
  });
  EXPECT_VERDICT(verdict, kRefuted);
  EXPECT_EQ(verdict.tokens().size(), 2u);
  EXPECT_THAT(explain(verdict), ::testing::HasSubstr("training.h:37"));
}

TEST(Training, IsTheSameAsOnOneReplica) {
  const auto body = [](Strategy& strategy, const Batch& batch) { train(strategy, batch); };
  belfry::testing::expect_same_as_one_replica({.replicas = 4}, kBatch, body);
  // [central]
  const auto central = [](Backend& backend) {
    return std::make_unique<CentralStorageStrategy>(backend);
  };
  belfry::testing::expect_same_as_one_replica({.replicas = 4, .strategy = central}, kBatch, body);
  // [central]
}

// Seven examples for two replicas: the last example is in no share.
TEST(Training, DiffersFromOneReplicaIfExamplesAreLeftOut) {
  const auto report = belfry::testing::compare_with_one_replica(
      {.replicas = 2}, [](Strategy& strategy) { train(strategy, {1, 2, 3, 4, 5, 6, 7}); });
  // The mean of 1 to 7, and of 1 to 6.
  EXPECT_THAT(report.difference, ::testing::HasSubstr("is 4 on 1 replica, 3.5 on 2 replicas"));
}

RC_GTEST_PROP(Training, IsCertifiedForEveryBatch, (const std::vector<std::int8_t>& examples)) {
  const sim::Options options{.devices = *rc::gen::inRange(1, 4)};
  const Batch batch(examples.begin(), examples.end());
  const sim::Verdict verdict = sim::explore(options, [&](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    return train(strategy, batch);
  });
  RC_ASSERT_VERDICT(verdict, kCertified);
}

}  // namespace
