// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The simulator's log of input that is read ahead (SEM-97).
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "testing/operation_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace belfry::sim::prefetch_log_test {
namespace {

using ::testing::ElementsAre;
using Counts = std::vector<std::int64_t>;

// Five steps for two replicas. All tensors lie on the first replica's device: each step has a
// single copy to make, to the second replica's device.
class Prefetch : public ::testing::Test {
 protected:
  /// For each step, the number of operations of `kind` until the step is handed out.
  Counts when_handed_out(int prefetch, OperationKind kind) {
    std::vector<Tensor<float>> elements;
    for (int i = 0; i < 10; ++i) {
      elements.push_back(Tensor<float>::full({4}, static_cast<float>(i), strategy_.placement(0)));
    }
    const auto steps = strategy_.distribute_dataset(Dataset<Tensor<float>>::from(elements),
                                                    {.end_of_data = EndOfData::kDropPartialStep,
                                                     .elements = ElementUse::kPerReplica,
                                                     .prefetch = prefetch});
    const std::int64_t before = operation_count(backend_, kind);
    Counts counts;
    std::vector<PerReplica<Tensor<float>>> kept;  // So that no memory is used again.
    for (const auto& step : steps) {
      counts.push_back(operation_count(backend_, kind) - before);
      kept.push_back(step);
    }
    for (int i = 0; i < 5; ++i) {
      const auto& step = kept[static_cast<std::size_t>(i)];
      EXPECT_EQ(step[1].placement(), strategy_.placement(1));
      EXPECT_EQ(step[1].to_host()[0], static_cast<float>(2 * i + 1));
    }
    return counts;
  }

  sim::Backend backend_{{.devices = 2, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy_{backend_};
};

TEST_F(Prefetch, EnqueuesTheCopiesOfLaterStepsBeforeAStepIsHandedOut) {
  EXPECT_THAT(when_handed_out(0, OperationKind::kAllocate), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(when_handed_out(1, OperationKind::kAllocate), ElementsAre(2, 3, 4, 5, 5));
  EXPECT_THAT(when_handed_out(3, OperationKind::kAllocate), ElementsAre(4, 5, 5, 5, 5));
  EXPECT_THAT(when_handed_out(9, OperationKind::kAllocate), ElementsAre(5, 5, 5, 5, 5));
  EXPECT_THAT(when_handed_out(3, OperationKind::kEnqueue), ElementsAre(4, 5, 5, 5, 5));
}

TEST_F(Prefetch, DoesNotMakeTheHostWait) {
  EXPECT_THAT(when_handed_out(3, OperationKind::kHostWait), ElementsAre(0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace belfry::sim::prefetch_log_test
