// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// DistributeOptions::equal_steps: workers without a group take equally many steps.
#include "belfry/backend/host_backend.h"
#include "belfry/distributed_dataset.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace belfry::equal_steps_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int>;
using Steps = std::vector<std::vector<Ints>>;  // By step and replica.

DistributeOptions options_of(int workers, int worker, EndOfData end) {
  return {.end_of_data = end, .num_workers = workers, .worker = worker, .equal_steps = true};
}

Steps steps_of(int replicas, const Dataset<Ints>& batches, const DistributeOptions& options) {
  HostBackend backend(replicas);
  MirroredStrategy strategy{backend};
  Steps steps;
  for (const PerReplica<Ints>& step : strategy.distribute_dataset(batches, options)) {
    steps.emplace_back(step.begin(), step.end());
    EXPECT_EQ(step.size(), replicas);
    EXPECT_TRUE(step.has(0));
    EXPECT_TRUE(step.has(replicas - 1));
  }
  return steps;
}

// The numbers from 0 on, in batches of `batch`.
struct Case {
  int rows;
  int batch;
  int workers;
  int replicas;
};

// The shares of all workers in a step, in order, continue the previous step.
void expect_in_order(const Case& one, EndOfData end, const std::vector<Steps>& all) {
  const bool pads = end == EndOfData::kPadWithEmpties;
  const int steps = (one.rows + (pads ? one.batch - 1 : 0)) / one.batch;
  EXPECT_THAT(all, Each(::testing::SizeIs(steps)));
  int next = 0;
  for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step) {
    Ints sizes;
    for (const Steps& worker : all) {
      for (const Ints& share : worker[step]) {
        for (const int row : share) EXPECT_EQ(row, next++);
        sizes.push_back(static_cast<int>(share.size()));
      }
    }
    if (next % one.batch != 0) continue;
    EXPECT_LE(std::ranges::max(sizes) - std::ranges::min(sizes), 1);
  }
  EXPECT_EQ(next, pads ? one.rows : one.rows / one.batch * one.batch);
}

TEST(EqualSteps, AreThoseOfOneStrategyWithAllReplicas) {
  testing::asserts("SEM-95", "SEM-96");
  for (const EndOfData end : {EndOfData::kDropPartialStep, EndOfData::kPadWithEmpties}) {
    // 7 rows on 3 workers: with the shares of `shard`, 2, 1 and 1 steps.
    for (const Case one : {Case{7, 6, 3, 2}, Case{8, 3, 3, 1}, Case{29, 7, 2, 3}, Case{4, 4, 2, 1},
                           Case{0, 6, 3, 2}, Case{5, 6, 3, 2}, Case{40, 9, 4, 2}}) {
      SCOPED_TRACE(std::to_string(one.rows) + " rows, " + to_string(end));
      std::vector<Steps> all;
      for (int worker = 0; worker < one.workers; ++worker) {
        all.push_back(steps_of(one.replicas, Dataset<int>::range(one.rows).batch(one.batch),
                               options_of(one.workers, worker, end)));
      }
      expect_in_order(one, end, all);
    }
  }
}

// Batches of unknown size: a step each, in parts of 2 rows; 1, 2 and 0 rows are left in the last.
TEST(EqualSteps, SplitBatchesOfUnknownSize) {
  testing::asserts("SEM-95");
  const auto data = Dataset<int>::range(15).batch(12).map([](const Ints& same) { return same; });
  std::vector<Steps> all;
  for (int worker = 0; worker < 3; ++worker) {
    all.push_back(steps_of(2, data, options_of(3, worker, EndOfData::kPadWithEmpties)));
  }
  EXPECT_THAT(all[0],
              ElementsAre(ElementsAre(Ints{0, 1}, Ints{2, 3}), ElementsAre(Ints{12}, Ints{13})));
  EXPECT_THAT(all[1],
              ElementsAre(ElementsAre(Ints{4, 5}, Ints{6, 7}), ElementsAre(Ints{14}, Ints{})));
  EXPECT_THAT(all[2],
              ElementsAre(ElementsAre(Ints{8, 9}, Ints{10, 11}), ElementsAre(Ints{}, Ints{})));
}

TEST(EqualSteps, GiveEachReplicaTheNextElement) {
  testing::asserts("SEM-95");
  for (int worker = 0; worker < 2; ++worker) {
    DistributeOptions options = options_of(2, worker, EndOfData::kDropPartialStep);
    options.elements = ElementUse::kPerReplica;
    const Steps own = steps_of(2, Dataset<int>::range(11).batch(1), options);
    const int first = 2 * worker;  // Steps of four elements: 0 to 3, and 4 to 7.
    EXPECT_THAT(own, ElementsAre(ElementsAre(Ints{first}, Ints{first + 1}),
                                 ElementsAre(Ints{first + 4}, Ints{first + 5})));
  }
}

TEST(EqualSteps, ChangeNothingForAWorkerAloneOrForPartsOfEachBatch) {
  DistributeOptions options = options_of(1, 0, EndOfData::kMaskReplicas);
  const auto data = Dataset<int>::range(7).batch(4);
  const Steps equal = steps_of(2, data.take(1), options);
  options.equal_steps = false;
  EXPECT_EQ(steps_of(2, data.take(1), options), equal);
  for (int worker = 0; worker < 2; ++worker) {
    options = options_of(2, worker, EndOfData::kPadWithEmpties);
    options.split = BatchSplit::kEachBatch;
    const Steps parts = steps_of(2, data, options);
    options.equal_steps = false;
    EXPECT_EQ(steps_of(2, data, options), parts);
  }
}

std::string failure_of(const DistributeOptions& options, bool is_function) {
  HostBackend backend(2);
  MirroredStrategy strategy{backend};
  const auto data = Dataset<int>::range(8).batch(4);
  const ErrorReport report = report_of([&] {
    if (is_function) {
      strategy.distribute_datasets_from_function([&](const InputContext&) { return data; }, options,
                                                 {"train.cc", 5});
    } else {
      strategy.distribute_dataset(data, options, {"train.cc", 5});
    }
  });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(to_string(report.site), "train.cc:5");
  return report.summary;
}

TEST(EqualSteps, AreRefusedWhereWorkersWouldHaveToKnowEachOther) {
  testing::asserts("SEM-96");
  EXPECT_THAT(failure_of(options_of(2, 1, EndOfData::kMaskReplicas), false),
              HasSubstr("all of its replicas are masked"));
  EXPECT_THAT(failure_of(options_of(2, 1, EndOfData::kDropPartialStep), true),
              HasSubstr("an input function"));
}

}  // namespace
}  // namespace belfry::equal_steps_test
