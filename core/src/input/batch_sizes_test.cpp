// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/distributed_dataset.h"
#include "belfry/error.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::batch_sizes_test {
namespace {

using ::testing::ElementsAre;
using Sizes = std::vector<std::int64_t>;

TEST(Conformance, B01_SizesAreEqualWhereItComesOutEven) {
  EXPECT_THAT(batch_sizes_for_worker(8, 2, 2, 0), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(batch_sizes_for_worker(8, 2, 2, 1), ElementsAre(2, 2, 2, 2));
}

TEST(Conformance, B02_WorkersBeginAtDifferentPlacesOfTheList) {
  EXPECT_THAT(batch_sizes_for_worker(4, 3, 1, 0), ElementsAre(2, 1, 1));
  EXPECT_THAT(batch_sizes_for_worker(4, 3, 1, 1), ElementsAre(1, 1, 2));
  EXPECT_THAT(batch_sizes_for_worker(4, 3, 1, 2), ElementsAre(1, 2, 1));
}

TEST(Conformance, B03_SevenOverTwoWorkersOfTwo) {
  EXPECT_THAT(batch_sizes_for_worker(7, 2, 2, 0), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(batch_sizes_for_worker(7, 2, 2, 1), ElementsAre(2, 1, 2, 2));
}

TEST(Conformance, B06_SomeSizesAreZeroWhereThereAreTooFewExamples) {
  EXPECT_THAT(batch_sizes_for_worker(4, 5, 1, 0), ElementsAre(1, 1, 1, 1, 0));
  EXPECT_THAT(batch_sizes_for_worker(4, 5, 1, 1), ElementsAre(1, 1, 1, 0, 1));
  EXPECT_THAT(batch_sizes_for_worker(4, 5, 1, 2), ElementsAre(1, 1, 0, 1, 1));
  EXPECT_THAT(batch_sizes_for_worker(4, 5, 1, 3), ElementsAre(1, 0, 1, 1, 1));
  EXPECT_THAT(batch_sizes_for_worker(4, 5, 1, 4), ElementsAre(0, 1, 1, 1, 1));
}

RC_GTEST_PROP(Conformance, B07_SizesAddUpForEachWorkerAndEachStep, ()) {
  const auto global = *rc::gen::inRange<std::int64_t>(1, 1000);
  const auto workers = *rc::gen::inRange(1, 9);
  const auto replicas = *rc::gen::inRange(1, 17);
  std::vector<std::int64_t> steps(static_cast<std::size_t>(workers), 0);
  for (int worker = 0; worker < workers; ++worker) {
    const Sizes sizes = batch_sizes_for_worker(global, workers, replicas, worker);
    RC_ASSERT(sizes.size() == static_cast<std::size_t>(workers * replicas));
    RC_ASSERT(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == global);
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    RC_ASSERT(*most - *least <= 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      // The definition, element by element: positions 0 to global - 1 are dealt out in turn; the
      // number of positions on this place of the rotated list.
      const auto n = static_cast<std::int64_t>(sizes.size());
      const auto place = (static_cast<std::int64_t>(i) + std::int64_t{worker} * replicas) % n;
      RC_ASSERT(sizes[i] == (global + n - 1 - place) / n);
      steps[i / static_cast<std::size_t>(replicas)] += sizes[i];
    }
  }
  for (const std::int64_t step : steps) RC_ASSERT(step == global);
}

TEST(BatchSizes, RefuseImpossibleCounts) {
  EXPECT_THROW(batch_sizes_for_worker(0, 1, 1, 0), InvalidArgumentError);
  EXPECT_THROW(batch_sizes_for_worker(4, 0, 1, 0), InvalidArgumentError);
  EXPECT_THROW(batch_sizes_for_worker(4, 1, 0, 0), InvalidArgumentError);
  EXPECT_THROW(batch_sizes_for_worker(4, 2, 1, 2), InvalidArgumentError);
  EXPECT_THROW(batch_sizes_for_worker(4, 2, 1, -1), InvalidArgumentError);
}

TEST(Conformance, CTX_27_AnInputContextHasThreeNumbers) {
  const InputContext context{
      .num_input_pipelines = 2, .input_pipeline_id = 1, .num_replicas_in_sync = 6};
  EXPECT_EQ(context.num_replicas_in_sync, 6);
  EXPECT_EQ(context.input_pipeline_id, 1);
  EXPECT_EQ(context.num_input_pipelines, 2);
  const InputContext defaults;
  EXPECT_EQ(std::tuple(defaults.num_input_pipelines, defaults.input_pipeline_id,
                       defaults.num_replicas_in_sync),
            std::tuple(1, 0, 1));
}

TEST(Conformance, CTX_28_APerReplicaBatchSizeComesOutEvenOrIsAnError) {
  const InputContext context{.num_replicas_in_sync = 6};
  EXPECT_EQ(context.get_per_replica_batch_size(12), 2);
  EXPECT_THROW(std::ignore = context.get_per_replica_batch_size(13), InvalidArgumentError);
}

TEST(Conformance, T18_TenDoNotComeOutEvenOverFour) {
  const InputContext context{.num_replicas_in_sync = 4};
  EXPECT_EQ(context.get_per_replica_batch_size(8), 2);
  const ErrorReport report =
      report_of([&] { std::ignore = context.get_per_replica_batch_size(10, {"train.cc", 7}); });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(report.summary, "a global batch of 10 does not come out even over 4 replicas");
  EXPECT_EQ(to_string(report.site), "train.cc:7");
}

}  // namespace
}  // namespace belfry::batch_sizes_test
