// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/distributed_dataset.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/resumes_like_uninterrupted.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::resumed_runs_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Rows = std::vector<std::int64_t>;

// The outcome depends on each step and on the order of the steps. The members of type bool leave
// state out of the checkpoint.
struct Training {
  bool forgets_epoch = false;
  bool forgets_sum = false;
  bool forgets_rows = false;
  DistributeOptions options{.end_of_data = EndOfData::kMaskReplicas, .prefetch = 1};

  std::int64_t operator()(Strategy& strategy, ResumableRun& run) const {
    const auto sum = strategy.mirrored_variable(std::int64_t{0}, {.name = "sum"});
    const auto saved_epoch = strategy.mirrored_variable(std::int64_t{0}, {.name = "epoch"});
    const auto data =
        strategy.distribute_dataset(Dataset<std::int64_t>::range(11).shuffle(3).batch(4), options);
    Checkpoint checkpoint(strategy);
    if (!forgets_sum) checkpoint.add(sum);
    if (!forgets_epoch) checkpoint.add(saved_epoch);
    if (!forgets_rows) checkpoint.add("rows", data);
    run.begin(checkpoint);
    for (std::int64_t epoch = strategy.read(saved_epoch); epoch < 3; ++epoch) {
      strategy.cross_replica().update(saved_epoch, [epoch](std::int64_t& own) { own = epoch; });
      for (const PerReplica<Rows>& step : data) {
        take(strategy, sum, step, epoch);
        run.step_done();
      }
    }
    return strategy.read(sum);
  }

 private:
  static void take(Strategy& strategy, const MirroredVariable<std::int64_t>& sum,
                   const PerReplica<Rows>& step, std::int64_t epoch) {
    const auto totals = strategy.run(
        [](ReplicaContext& replica, const Rows& rows) {
          return replica.all_reduce(ReduceOp::kSum,
                                    std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
        },
        step);
    const std::int64_t total = *totals.begin();
    strategy.cross_replica().update(
        sum, [&](std::int64_t& own) { own = (own * 7 + (epoch + 1) * total) % 1000003; });
  }
};

TEST(ResumesLikeUninterrupted, PassesATrainingThatSavesAllOfItsState) {
  testing::asserts("SEM-259");
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    resumes_like_uninterrupted(Training{}, {.seed = seed});
  }
  const ResumeReport report = compare_resumed(Training{}, {.interruptions = 3});
  EXPECT_EQ(report, (ResumeReport{.resumed = 3}));
  EXPECT_EQ(to_string(report), "3 resumed runs are the same");
}

// The sum depends on the order of the steps.
void train(Strategy& strategy, const MirroredVariable<int>& sum,
           const PerReplica<std::vector<int>>& step) {
  strategy.run(
      [&](ReplicaContext& replica, const std::vector<int>& rows) {
        const int own = std::accumulate(rows.begin(), rows.end(), 0);
        const int total = replica.all_reduce(ReduceOp::kSum, own);
        replica.merge_call([&](CrossReplicaContext& cross) {
          cross.update(sum, [total](int& all) { all = 3 * all + total; });
        });
      },
      step);
}

TEST(ResumesLikeUninterrupted, PassesTheTrainingOfThePage) {
  testing::asserts("SEM-259");
  // [resumes]
  testing::resumes_like_uninterrupted([](Strategy& strategy, testing::ResumableRun& run) {
    const auto sum = strategy.mirrored_variable(0, {.name = "sum"});
    const auto epoch = strategy.mirrored_variable(0, {.name = "epoch"});
    const auto data = strategy.distribute_dataset(Dataset<int>::range(10).batch(4),
                                                  {.end_of_data = EndOfData::kPadWithEmpties});
    Checkpoint checkpoint(strategy);
    checkpoint.add(sum).add(epoch).add("rows", data);
    run.begin(checkpoint);  // Restores, in a run that goes on.
    while (strategy.read(epoch) < 2) {
      for (const auto& step : data) {
        train(strategy, sum, step);
        run.step_done();  // The end of a run that is interrupted here.
      }
      strategy.cross_replica().update(epoch, [](int& number) { ++number; });
    }
    return strategy.read(sum);
  });
  // [resumes]
}

TEST(ResumesLikeUninterrupted, FindsAForgottenCounterOfTheHost) {
  testing::asserts("SEM-259");
  const ResumeReport report = compare_resumed(Training{.forgets_epoch = true});
  EXPECT_THAT(report.difference,
              AllOf(StartsWith("the run resumed on "), HasSubstr(", the uninterrupted run "),
                    EndsWith("; add the state that a step changes to the checkpoint")));
}

TEST(ResumesLikeUninterrupted, FindsAForgottenVariableAndAForgottenPosition) {
  testing::asserts("SEM-259");
  EXPECT_NE(compare_resumed(Training{.forgets_sum = true}).difference, "");
  EXPECT_NE(compare_resumed(Training{.forgets_rows = true}).difference, "");
}

TEST(ResumesLikeUninterrupted, FailsTheTest) {
  testing::asserts("SEM-259");
  EXPECT_NONFATAL_FAILURE(resumes_like_uninterrupted(Training{.forgets_sum = true}),
                          "the run resumed on ");
}

// No checkpoint changes the number of replicas.
TEST(ResumesLikeUninterrupted, TellsAnOutcomeThatDependsOnTheReplicas) {
  testing::asserts("SEM-259");
  const ResumeReport report = compare_resumed([](Strategy& strategy, ResumableRun& run) {
    Checkpoint checkpoint(strategy);
    run.begin(checkpoint);
    run.step_done();
    return strategy.num_replicas();
  });
  EXPECT_THAT(report.difference, EndsWith("the outcome depends on the number of replicas"));
}

TEST(ResumesLikeUninterrupted, TellsAnExceptionOfAResumedRun) {
  testing::asserts("SEM-259");
  const ResumeReport report = compare_resumed([](Strategy& strategy, ResumableRun& run) {
    const auto count = strategy.mirrored_variable(0, {.name = "count"});
    Checkpoint checkpoint(strategy);
    checkpoint.add(count);
    run.begin(checkpoint);
    if (strategy.read(count) != 0) throw std::runtime_error("no file");
    strategy.cross_replica().update(count, [](int& own) { own = 1; });
    run.step_done();
    return 0;
  });
  EXPECT_THAT(report.difference, EndsWith("throws no file"));
}

TEST(ResumesLikeUninterrupted, RefusesBodiesThatCannotBeInterrupted) {
  testing::asserts("SEM-259");
  const auto without_steps = [](Strategy& strategy, ResumableRun& run) {
    Checkpoint checkpoint(strategy);
    run.begin(checkpoint);
    return 0;
  };
  EXPECT_EQ(code_of([&] { compare_resumed(without_steps); }), ErrorCode::kInvalidArgument);
  const auto without_begin = [](Strategy&, ResumableRun& run) {
    run.step_done();
    return 0;
  };
  EXPECT_EQ(code_of([&] { compare_resumed(without_begin); }), ErrorCode::kInvalidArgument);
  const auto catches_all = [](Strategy& strategy, ResumableRun& run) {
    Checkpoint checkpoint(strategy);
    run.begin(checkpoint);
    try {
      run.step_done();
    } catch (...) {
    }
    return 0;
  };
  EXPECT_EQ(code_of([&] { compare_resumed(catches_all); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([&] { compare_resumed(Training{}, {.most_replicas = 1}); }),
            ErrorCode::kInvalidArgument);
}

TEST(ResumesLikeUninterrupted, RunsAnyStrategy) {
  testing::asserts("SEM-259");
  const ResumeOptions options{.most_replicas = 3, .strategy = [](Backend& backend) {
                                return std::make_unique<CentralStorageStrategy>(backend);
                              }};
  resumes_like_uninterrupted(Training{}, options);
  EXPECT_EQ(to_string(options), "ResumeOptions{.most_replicas = 3, .strategy = \"a function\"}");
}

}  // namespace
}  // namespace belfry::testing::resumed_runs_test
