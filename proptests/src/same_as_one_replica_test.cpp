// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/same_as_one_replica.h"

#include "belfry/belfry.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::same_as_one_replica_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

template <class T>
using Batch = std::vector<T>;

const Batch<double> kBatch{1, 2, 3, 4, 5, 6, 7, 8};
const OneReplicaOptions kFour{.replicas = 4};

// The replica's part of the batch, whose size is a multiple of the number of replicas.
template <class T>
Batch<T> share_of(ReplicaContext& replica, const Batch<T>& batch) {
  const auto size = static_cast<std::ptrdiff_t>(batch.size()) / replica.num_replicas();
  const auto begin = batch.begin() + replica.replica_id() * size;
  return {begin, begin + size};
}

template <class T>
T sum_of(const Batch<T>& batch) {
  return std::accumulate(batch.begin(), batch.end(), T(0));
}

std::string here(int line) { return "same_as_one_replica_test.cpp:" + std::to_string(line); }

TEST(SameAsOneReplica, CountsReductions) {
  const OneReplicaReport report = compare_with_one_replica(kFour, [](Strategy& strategy) {
    strategy.run([](ReplicaContext& replica) {
      for (int i = 0; i < 3; ++i) replica.all_reduce(ReduceOp::kMean, 1.0);
      replica.merge_call([](CrossReplicaContext&) {});
    });
  });
  EXPECT_EQ(report, (OneReplicaReport{.reductions = 3}));
  EXPECT_EQ(to_string(report), "3 reductions are the same");
}

// The sum of the means of the shares 3, 7, 11 and 15, halved, in place of their mean 4.5.
TEST(SameAsOneReplica, NamesTheFirstReductionThatDiffersAndNoLaterOne) {
  testing::asserts("SEM-197");
  int line = 0;
  const OneReplicaReport report = compare_with_one_replica(kFour, [&](Strategy& strategy) {
    strategy.run([&](ReplicaContext& replica) {
      const Batch<double> mine = share_of(replica, kBatch);
      const double mean = sum_of(mine) / static_cast<double>(mine.size());
      replica.all_reduce(ReduceOp::kSum, sum_of(mine));
      line = __LINE__ + 1;
      const double wrong = replica.all_reduce(ReduceOp::kSum, mean);
      replica.all_reduce(ReduceOp::kMean, wrong);
    });
  });
  EXPECT_EQ(report.reductions, 1);
  EXPECT_THAT(report.difference,
              StartsWith("#1 of all_reduce at " + here(line) +
                         " differs: element 0 of leaf 0 is 4.5 on 1 replica, 18 on 4 replicas"));
  EXPECT_THAT(report.difference, HasSubstr("the inputs are 1.5, 3.5, 5.5, 7.5"));
  EXPECT_THAT(report.difference, HasSubstr("the result is 4 times too large"));
}

TEST(SameAsOneReplica, NamesAMeanInPlaceOfASum) {
  const OneReplicaReport report = compare_with_one_replica(kFour, [](Strategy& strategy) {
    strategy.run([](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kMean, sum_of(share_of(replica, kBatch)));
    });
  });
  EXPECT_THAT(report.difference, HasSubstr("is 36 on 1 replica, 9 on 4 replicas"));
  EXPECT_THAT(report.difference, HasSubstr("4 times too small"));
}

// EachStrategy names assignments in runs.
TEST(SameAsOneReplica, NamesReductionsBetweenRuns) {
  int line = 0;
  const OneReplicaReport between = compare_with_one_replica(kFour, [&](Strategy& strategy) {
    const auto sums =
        strategy.run([](ReplicaContext& replica) { return sum_of(share_of(replica, kBatch)); });
    strategy.cross_replica().reduce(ReduceOp::kSum, sums);
    line = __LINE__ + 1;
    strategy.cross_replica().reduce(ReduceOp::kMean, sums);
  });
  EXPECT_EQ(between.reductions, 1);
  EXPECT_THAT(between.difference, StartsWith("#1 of the reduction at " + here(line) + " differs"));
}

TEST(SameAsOneReplica, CountsTheReductionsOfALine) {
  int line = 0;
  const OneReplicaReport report = compare_with_one_replica(kFour, [&](Strategy& strategy) {
    for (const int steps : {1, 5, 2}) {
      strategy.run([&](ReplicaContext& replica) {
        for (int step = 0; step < steps; ++step) {
          const int wrong = step == 3 && replica.replica_id() == 2 ? 1 : 0;
          replica.all_reduce(ReduceOp::kSum, wrong), line = __LINE__;
          replica.all_reduce(MergeTag{"named"}, ReduceOp::kSum, 0);
        }
        replica.all_reduce(ReduceOp::kSum, 0);  // Once in a run.
      });
    }
  });
  EXPECT_EQ(report.reductions, 1 + 1 + 1 + 3 + 3);
  EXPECT_THAT(report.difference, StartsWith("#5 of all_reduce at " + here(line)));
  EXPECT_THAT(report.difference, HasSubstr("is 0 on 1 replica, 1 on 4 replicas; the bound is 0"));
  EXPECT_THAT(report.difference, EndsWith("; 5 merges at " + here(line) +
                                          " have no names: their order is not compared"));
  EXPECT_EQ(report.difference.find("have no names"), report.difference.rfind("have no names"));
}

// The order of the tags depends on the number of replicas, and the line is the same.
TEST(SameAsOneReplica, ComparesReductionsWithEqualTags) {
  testing::asserts("SEM-197");
  const auto body = [](double wrong) {
    return [wrong](Strategy& strategy) {
      strategy.run([&](ReplicaContext& replica) {
        const bool is_single = replica.num_replicas() == 1;
        const std::vector<std::string> names =
            is_single ? std::vector<std::string>{"w", "b"} : std::vector<std::string>{"b", "w"};
        for (const std::string& name : names) {
          const double value = name == "w" ? 1.0 : 7.0;
          replica.all_reduce(MergeTag{name}, ReduceOp::kMean, name == "w" ? value + wrong : value);
        }
      });
    };
  };
  EXPECT_THAT(compare_with_one_replica(kFour, body(0)).difference, IsEmpty());
  const OneReplicaReport report = compare_with_one_replica(
      kFour, [&](Strategy& strategy) { body(strategy.num_replicas() == 1 ? 0.0 : 0.5)(strategy); });
  EXPECT_EQ(report.reductions, 1);
  EXPECT_THAT(report.difference, StartsWith("#1 of all_reduce \"w\" at "));
  EXPECT_THAT(report.difference, HasSubstr("is 1 on 1 replica, 1.5 on 4 replicas"));
}

// Replica order: (2^24 + 1) + 1 = 2^24 in float, and 2^24 + 2 on one replica. The bound is
// 2 u / (1 - 2 u) of 2^24 + 2, a little more than 2, with u = 2^-24.
TEST(SameAsOneReplica, AllowsTheErrorOfTheReduction) {
  testing::asserts("SEM-197");
  const auto body = [](float on_one) {
    return [on_one](Strategy& strategy) {
      strategy.run([&](ReplicaContext& replica) {
        const bool is_single = replica.num_replicas() == 1;
        const float part = replica.replica_id() == 0 ? 0x1p24F : 1.0F;
        replica.all_reduce(ReduceOp::kSum, is_single ? on_one : part);
      });
    };
  };
  const OneReplicaOptions three{.replicas = 3, .terms = 0};
  EXPECT_THAT(compare_with_one_replica(three, body(0x1p24F + 2)).difference, IsEmpty());
  EXPECT_THAT(compare_with_one_replica(three, body(0x1p24F + 4)).difference,
              HasSubstr("is 16777220 on 1 replica, 16777216 on 3 replicas; the bound is 2.0"));
  // Four more: 2 * 3 u / (1 - 3 u) for the sums of four terms in the replicas.
  const OneReplicaOptions rounded{.replicas = 3, .terms = 4};
  EXPECT_THAT(compare_with_one_replica(rounded, body(0x1p24F + 4)).difference, IsEmpty());
  EXPECT_THAT(compare_with_one_replica(rounded, body(0x1p24F + 10)).difference,
              HasSubstr("the bound is 8.0"));
}

TEST(SameAsOneReplica, ComparesTensorsOfEveryWidth) {
  const auto body = [](auto value) {
    using T = decltype(value);
    return [value](Strategy& strategy) {
      strategy.run([&](ReplicaContext& replica) {
        const bool is_single = replica.num_replicas() == 1;
        const T element = is_single ? value : static_cast<T>(1.0F);
        replica.all_reduce(ReduceOp::kSum, Tensor<T>::from({2}, {T(0.0F), element}));
      });
    };
  };
  EXPECT_THAT(compare_with_one_replica(kFour, body(BFloat16(4.0F))).difference, IsEmpty());
  EXPECT_THAT(compare_with_one_replica(kFour, body(Float16(4.0F))).difference, IsEmpty());
  EXPECT_THAT(compare_with_one_replica(kFour, body(4.0)).difference, IsEmpty());
  EXPECT_THAT(compare_with_one_replica(kFour, body(std::int64_t{4})).difference, IsEmpty());
  EXPECT_THAT(compare_with_one_replica(kFour, body(std::int64_t{5})).difference,
              HasSubstr("element 1 of leaf 0 is 5 on 1 replica, 4 on 4 replicas; the bound is 0"));
  EXPECT_THAT(compare_with_one_replica(kFour, body(Float16(5.0F))).difference,
              HasSubstr("is 5 on 1 replica, 4 on 4 replicas"));
}

TEST(SameAsOneReplica, NamesReductionsOfASingleRun) {
  testing::asserts("SEM-197");
  const auto body = [](bool with_many) {
    return [with_many](Strategy& strategy) {
      strategy.run([&](ReplicaContext& replica) {
        replica.all_reduce(ReduceOp::kMean, 1.0);
        const bool is_single = replica.num_replicas() == 1;
        if (is_single != with_many) replica.all_reduce(ReduceOp::kMean, 2.0);
      });
    };
  };
  EXPECT_THAT(compare_with_one_replica(kFour, body(true)).difference,
              HasSubstr("happens on 4 replicas and not on 1 replica"));
  EXPECT_THAT(compare_with_one_replica(kFour, body(false)).difference,
              HasSubstr("happens on 1 replica and not on 4 replicas"));
}

TEST(SameAsOneReplica, PrefersADifferenceToAnException) {
  const auto body = [](double wrong) {
    return [wrong](Strategy& strategy) {
      const bool is_single = strategy.num_replicas() == 1;
      strategy.run([&](ReplicaContext& replica) {
        replica.all_reduce(ReduceOp::kMean, is_single ? 1.0 : 1.0 + wrong);
        if (!is_single) throw std::runtime_error("on four replicas");
        replica.all_reduce(ReduceOp::kMean, 2.0);
      });
    };
  };
  EXPECT_THROW(compare_with_one_replica(kFour, body(0)), std::runtime_error);
  EXPECT_THAT(compare_with_one_replica(kFour, body(1)).difference,
              HasSubstr("is 1 on 1 replica, 2 on 4 replicas"));
}

// Two features and a target of an example, not exact in binary.
struct Linear {
  Tensor<float> rows;
  Tensor<float> targets;
};
Linear linear(const Batch<int>& examples) {
  std::vector<float> x, y;
  for (const int i : examples) {
    x.push_back(0.1F * static_cast<float>(i % 5 + 1));
    x.push_back(0.7F - 0.3F * static_cast<float>(i % 7));
    y.push_back(1.3F * static_cast<float>(i % 3));
  }
  const auto count = static_cast<std::int64_t>(examples.size());
  return {Tensor<float>::from({count, 2}, x), Tensor<float>::from({count, 1}, y)};
}

// The way from the gradients of the replicas to the argument of the update.
using Combine =
    std::function<Mirrored<Tensor<float>>(CrossReplicaContext&, const PerReplica<Tensor<float>>&)>;
Mirrored<Tensor<float>> sum_of_all(CrossReplicaContext& cross,
                                   const PerReplica<Tensor<float>>& gradients) {
  return cross.reduce(ReduceOp::kSum, gradients);
}

// Trains on 16 examples a step, and adds up the loss in double before each update.
void trains(Strategy& strategy, int steps, const Combine& combine) {
  const auto weights =
      strategy.mirrored_variable([] { return Tensor<float>::zeros({2, 1}); }, {.name = "weights"});
  for (int step = 0; step < steps; ++step) {
    Batch<int> batch(16);
    std::iota(batch.begin(), batch.end(), 16 * step);
    strategy.run([&](ReplicaContext& replica) {
      const Linear own = linear(share_of(replica, batch));
      const auto error = matmul(own.rows, weights.on(replica)) - own.targets;
      const std::vector<float> each = square(error).to_host();
      replica.all_reduce(ReduceOp::kSum, std::accumulate(each.begin(), each.end(), 0.0));
      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
            cross.update(
                weights,
                [](Tensor<float>& w, const Tensor<float>& by) { subtract_scaled(w, 0.01F, by); },
                combine(cross, gradients));
          },
          matmul(own.rows, error, {.transpose_a = true}));
    });
  }
}

// Sums of float gradients round: the weights differ after the first update, and the losses in
// double of the second step show the difference.
TEST(SameAsOneReplica, StartsEveryUpdateFromEqualVariables) {
  testing::asserts("SEM-197");
  const auto body = [](Strategy& strategy) { trains(strategy, 30, sum_of_all); };
  for (const int replicas : {2, 4, 8}) {
    const OneReplicaReport report = compare_with_one_replica({.replicas = replicas}, body);
    EXPECT_EQ(report, (OneReplicaReport{.reductions = 60})) << report.difference;
  }
  const OneReplicaReport own =
      compare_with_one_replica({.replicas = 4, .terms = 16, .realign = false}, body);
  EXPECT_THAT(own.difference, StartsWith("#2 of all_reduce at "));
  EXPECT_THAT(own.difference, HasSubstr("probably rounding: that of 1 update before is in it, "
                                        "unless OneReplicaOptions::realign is true"));
  // 30 steps double no more than single rounding: half of the digits of a float are right.
  EXPECT_THAT(compare_with_one_replica(
                  {.replicas = 4, .terms = 16, .tolerance = 0x1p-12, .realign = false}, body)
                  .difference,
              IsEmpty());
}

// 4 of 2^24 + 4 is 2.4e-7.
TEST(SameAsOneReplica, NamesTheOptionsForRoundingInReplicas) {
  const auto body = [](Strategy& strategy) {
    strategy.run([](ReplicaContext& replica) {
      const float own = replica.replica_id() == 0 ? 0x1p24F : 1.0F;
      replica.all_reduce(ReduceOp::kSum, replica.num_replicas() == 1 ? 0x1p24F + 4 : own);
    });
  };
  EXPECT_THAT(compare_with_one_replica({.replicas = 3, .terms = 0}, body).difference,
              HasSubstr("; this is 2.4e-07 of the largest element, probably rounding: if replicas "
                        "add up examples, set OneReplicaOptions::terms"));
  EXPECT_THAT(
      compare_with_one_replica({.replicas = 3, .terms = 0, .tolerance = 1e-6}, body).difference,
      IsEmpty());
  EXPECT_THAT(
      compare_with_one_replica({.replicas = 3, .terms = 0, .tolerance = 1e-7}, body).difference,
      HasSubstr("the bound is 3.67"));
}

// A single update, whose reductions are the same.
TEST(SameAsOneReplica, SeesAForgottenReductionInASingleUpdate) {
  testing::asserts("SEM-197");
  const auto forgets = [](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
    cross.reduce(ReduceOp::kSum, gradients);
    return cross.broadcast(gradients[0]);
  };
  const OneReplicaReport report = compare_with_one_replica(
      {.replicas = 4, .terms = 16}, [&](Strategy& strategy) { trains(strategy, 1, forgets); });
  EXPECT_EQ(report.reductions, 2);
  EXPECT_THAT(report.difference,
              StartsWith("update 1 of weights at same_as_one_replica_test.cpp:"));
  EXPECT_THAT(report.difference, HasSubstr("a value of the update was not reduced"));
  const OneReplicaReport assigned = compare_with_one_replica(kFour, [](Strategy& strategy) {
    const auto first = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kOnlyFirst});
    strategy.run(
        [&](ReplicaContext& replica) { replica.assign(first, sum_of(share_of(replica, kBatch))); });
  });
  EXPECT_THAT(assigned.difference, HasSubstr("is 36 on 1 replica, 3 on 4 replicas"));
}

// The merge adds up the parts by an update for each; the bound is the bound of the sum.
TEST(SameAsOneReplica, TakesUpdatesWithoutAReductionBetweenThemAsOne) {
  testing::asserts("SEM-197");
  const auto body = [](float lost) {
    return [lost](Strategy& strategy) {
      const auto total = strategy.mirrored_variable(0.0F, {.name = "total"});
      for (int step = 0; step < 3; ++step) {
        strategy.run([&](ReplicaContext& replica) {
          const float own = 0.1F * static_cast<float>(sum_of(share_of(replica, kBatch)));
          replica.merge_call(
              [&](CrossReplicaContext& cross, const PerReplica<float>& parts) {
                for (const float part : parts) {
                  cross.update(total, [](float& sum, float by) { sum += by; }, part);
                }
                if (parts.size() > 1) {
                  cross.update(total, [](float& sum, float by) { sum -= by; }, lost);
                }
              },
              own);
          replica.all_reduce(ReduceOp::kSum, 1 == replica.num_replicas() ? 4 : 1);
        });
      }
    };
  };
  EXPECT_THAT(compare_with_one_replica(kFour, body(0)).difference, IsEmpty());
  const OneReplicaReport report = compare_with_one_replica(kFour, body(0.125F));
  EXPECT_EQ(report.reductions, 0);
  EXPECT_THAT(report.difference, StartsWith("update 1 of total at "));
}

// The number of updates follows the number of replicas.
TEST(SameAsOneReplica, JudgesVariablesWithEquallyManyUpdates) {
  const OneReplicaReport report = compare_with_one_replica(kFour, [](Strategy& strategy) {
    const auto rounds = strategy.mirrored_variable(0);
    for (int i = 0; i < strategy.num_replicas(); ++i) {
      strategy.cross_replica().update(rounds,
                                      [&](int& count) { count += strategy.num_replicas(); });
      if (i == 0)
        strategy.cross_replica().reduce(ReduceOp::kMean,
                                        strategy.distribute_values([](int) { return 1.0; }));
    }
  });
  EXPECT_THAT(report.difference, IsEmpty());
}

TEST(SameAsOneReplica, NeedsTwoReplicasAndAShareAsTolerance) {
  EXPECT_EQ(code_of([] { (void)compare_with_one_replica({.replicas = 1}, [](Strategy&) {}); }),
            ErrorCode::kInvalidArgument);
  for (const double tolerance : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(code_of([&] {
                (void)compare_with_one_replica({.tolerance = tolerance}, [](Strategy&) {});
              }),
              ErrorCode::kInvalidArgument)
        << tolerance;
  }
}

TEST(SameAsOneReplica, FailsATestWithTheDifference) {
  EXPECT_NONFATAL_FAILURE(
      expect_same_as_one_replica(OneReplicaOptions{}, kBatch,
                                 [](Strategy& strategy, const Batch<double>& batch) {
                                   strategy.run([&](ReplicaContext& replica) {
                                     replica.all_reduce(ReduceOp::kSum, batch[0]);
                                   });
                                 }),
      "is 1 on 1 replica, 2 on 2 replicas");
  EXPECT_EQ(to_string(OneReplicaOptions{.replicas = 4, .terms = 8}),
            "OneReplicaOptions{.replicas = 4, .terms = 8}");
  EXPECT_EQ(to_string(OneReplicaOptions{.tolerance = 0.5, .realign = false}),
            "OneReplicaOptions{.replicas = 2, .tolerance = 0.5, .realign = false}");
}

}  // namespace
}  // namespace belfry::testing::same_as_one_replica_test
