// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The verdict over every schedule about a step of the demo's training. The sources of the training
// are watched.
#include "belfry/sim/backend.h"
#include "belfry/sim/explore.h"
#include "belfry/strategies.h"
#include "belfry/testing/certified.h"
#include "digits.h"
#include "trainer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace belfry::demo::step_verdict_test {
namespace {

constexpr int kBatch = 64;

TEST(StepVerdict, StepsOfTheDemoAreCertified) {
  const Digits digits = read_digits(BELFRY_DEMO_DATA);
  std::vector<int> rows(kBatch);
  std::iota(rows.begin(), rows.end(), 0);
  // With 5 replicas, shares differ in size.
  for (const int replicas : {1, 4, 5, 8}) {
    const sim::Verdict verdict =
        sim::explore({.devices = replicas, .seed = 1}, [&](sim::Backend& backend) {
          MirroredStrategy strategy{backend};
          Trainer trainer{strategy, digits, {}};
          const StepReport report = trainer.step(rows);
          std::vector<double> result{report.loss, report.within_bounds() ? 1.0 : 0.0};
          for (const float weight : trainer.weights()) result.push_back(weight);
          return result;
        });
    EXPECT_CERTIFIED(verdict) << replicas << " replicas";
  }
}

// The count of right answers on held-out images, after the demo's training.
TEST(StepVerdict, CountsOfTheDemoAreCertified) {
  const Digits digits = read_digits(BELFRY_DEMO_DATA);
  std::vector<int> rows(kBatch);
  std::iota(rows.begin(), rows.end(), 0);
  EXPECT_CERTIFIED(sim::explore({.devices = 4, .seed = 1}, [&](sim::Backend& backend) {
    MirroredStrategy strategy{backend};
    Trainer trainer{strategy, digits, {}};
    return trainer.count_correct(rows);
  }));
}

}  // namespace
}  // namespace belfry::demo::step_verdict_test
