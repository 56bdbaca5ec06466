// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Comparisons with one replica, for each kind of strategy.
#include "belfry/belfry.h"
#include "belfry/cross_device_ops.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/process_group.h"
#include "belfry/sim/backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/same_as_one_replica.h"
#include "local_sgd_strategy.h"
#include "strategies/folding_strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

namespace belfry::testing::same_strategies_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Batch = std::vector<double>;
using MakeStrategy = std::function<std::unique_ptr<Strategy>(Backend&)>;

const Batch kBatch{1, 2, 3, 4, 5, 6, 7, 8};

// The share of each of four replicas begins here; a single replica has the whole batch.
constexpr std::array<std::ptrdiff_t, 5> kEqual{0, 2, 4, 6, 8};
constexpr std::array<std::ptrdiff_t, 5> kUneven{0, 1, 3, 6, 8};

Batch share_of(ReplicaContext& replica, const std::array<std::ptrdiff_t, 5>& begins = kEqual) {
  if (replica.num_replicas() == 1) return kBatch;
  const auto id = static_cast<std::size_t>(replica.replica_id());
  return {kBatch.begin() + begins.at(id), kBatch.begin() + begins.at(id + 1)};
}

double sum_of(const Batch& batch) { return std::accumulate(batch.begin(), batch.end(), 0.0); }
double mean_of(const Batch& batch) { return sum_of(batch) / static_cast<double>(batch.size()); }

std::string here(int line) { return "same_strategies_test.cpp:" + std::to_string(line); }

// A strategy of the user with reductions of its own: a sum in place of each mean.
class SumsForMeans final : public Strategy {
 public:
  explicit SumsForMeans(Backend& backend)
      : Strategy(backend, StrategyOptions{}, CallSite::here()) {}

 private:
  void do_reduce(const ReduceCall& call) override {
    Strategy::do_reduce({ReduceOp::kSum, call.parts, call.everywhere, call.present});
  }
};

// A strategy whose reductions begin reductions of host values.
class AsksTwice final : public Strategy {
 public:
  explicit AsksTwice(Backend& backend) : Strategy(backend, StrategyOptions{}, CallSite::here()) {}

 private:
  void do_reduce(const ReduceCall& call) override {
    if (!inside_) {
      inside_ = true;
      cross_replica().reduce(ReduceOp::kSum, distribute_values([](int id) { return id; }));
      inside_ = false;
    }
    Strategy::do_reduce(call);
  }

  bool inside_ = false;
};

struct Kind {
  std::string name;
  MakeStrategy make;
  bool has_many = true;  // Whether four devices have four replicas.
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

MakeStrategy mirrored_with(const std::shared_ptr<CrossDeviceOps>& algorithm) {
  return [algorithm](Backend& backend) {
    return std::make_unique<MirroredStrategy>(backend,
                                              StrategyOptions{.cross_device_ops = algorithm});
  };
}

MakeStrategy mirrored_in(ReductionOrder order) {
  return [order](Backend& backend) {
    return std::make_unique<MirroredStrategy>(backend, StrategyOptions{.order = order});
  };
}

std::vector<Kind> mirrored_kinds() {
  return {{"Mirrored", [](Backend& b) { return std::make_unique<MirroredStrategy>(b); }},
          {"MirroredInTreeOrder", mirrored_in(ReductionOrder::kTree)},
          {"MirroredInRingOrder", mirrored_in(ReductionOrder::kRing)},
          {"Ring", mirrored_with(std::make_shared<RingAllReduce>())},
          {"Tree", mirrored_with(std::make_shared<TreeAllReduce>())},
          {"HalvingDoubling", mirrored_with(std::make_shared<HalvingDoublingAllReduce>())},
          {"Shuffle", mirrored_with(std::make_shared<ShuffleAllReduce>())},
          {"Hierarchical", mirrored_with(std::make_shared<HierarchicalAllReduce>())},
          {"ToOneDevice", mirrored_with(std::make_shared<ReductionToOneDevice>())},
          {"Packed", mirrored_with(in_packs(std::make_shared<TreeAllReduce>()))}};
}

std::vector<Kind> kinds() {
  std::vector<Kind> kinds = mirrored_kinds();
  kinds.push_back(
      {"CentralStorage", [](Backend& b) { return std::make_unique<CentralStorageStrategy>(b); }});
  kinds.push_back({"CentralStorageOnTheLast", [](Backend& b) {
                     const DeviceSpec last = b.device_spec(b.device_count() - 1);
                     return std::make_unique<CentralStorageStrategy>(
                         b, CentralStorageOptions{.storage = last});
                   }});
  kinds.push_back({"OneProcess", [](Backend& b) {
                     static SingleProcess group;
                     return std::make_unique<MultiWorkerMirroredStrategy>(b, group);
                   }});
  kinds.push_back({"Folding", [](Backend& b) {
                     return std::make_unique<FoldingStrategy>(b, StrategyOptions{});
                   }});
  kinds.push_back({"AsksTwice", [](Backend& b) { return std::make_unique<AsksTwice>(b); }});
  kinds.push_back(
      {"OneDevice",
       [](Backend& b) { return std::make_unique<OneDeviceStrategy>(b, b.device_spec(0)); }, false});
  kinds.push_back({"Default", [](Backend&) { return std::make_unique<DefaultStrategy>(); }, false});
  return kinds;
}

class EachStrategy : public ::testing::TestWithParam<Kind> {
 protected:
  OneReplicaReport report_of(const std::function<void(Strategy&)>& body) const {
    return compare_with_one_replica({.replicas = 4, .strategy = GetParam().make}, body);
  }
  // The reports of strategies with a single replica have no difference.
  void expect_named(const OneReplicaReport& report, const std::string& begin,
                    const std::string& numbers) const {
    if (GetParam().has_many) {
      EXPECT_THAT(report.difference, AllOf(StartsWith(begin), HasSubstr(numbers)));
    } else {
      EXPECT_THAT(report.difference, IsEmpty());
    }
  }
};

// A step has three reductions: of an all_reduce, of an assignment, and in a merge function. All
// numbers are exact.
void train(Strategy& strategy) {
  auto weight = strategy.mirrored_variable([] { return Tensor<float>::full({5}, 0.5F); },
                                           {.aggregation = Aggregation::kMean});
  auto bias = strategy.mirrored_variable(0.25);
  for (int step = 0; step < 2; ++step) {
    strategy.run([&](ReplicaContext& replica) {
      const double mean = mean_of(share_of(replica));
      replica.all_reduce(ReduceOp::kMean, mean * bias.on(replica));
      replica.assign_sub(weight, multiply(weight.on(replica), static_cast<float>(mean)));
      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<double>& means) {
            const Mirrored<double> all = cross.reduce(ReduceOp::kMean, means);
            cross.update(bias, [](double& value, double by) { value -= by; }, all);
          },
          mean);
    });
  }
}

TEST_P(EachStrategy, TrainsAsOneReplicaDoes) {
  testing::asserts("SEM-197");
  EXPECT_EQ(report_of(train), (OneReplicaReport{.reductions = 6}));
}

// The shares 1; 2, 3; 4, 5, 6; 7, 8 have the means 1, 2.5, 5 and 7.5, whose mean is 4. The mean of
// the batch is 4.5.
TEST_P(EachStrategy, NamesAMeanOfMeansOverUnevenShares) {
  testing::asserts("SEM-197");
  int line = 0;
  const OneReplicaReport report = report_of([&](Strategy& strategy) {
    auto weight = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kMean});
    strategy.run([&](ReplicaContext& replica) {
      const Batch mine = share_of(replica, kUneven);
      replica.all_reduce(ReduceOp::kSum, sum_of(mine));
      line = __LINE__ + 1;
      replica.assign_sub(weight, mean_of(mine));
    });
  });
  expect_named(report, "#1 of assign at " + here(line) + " differs: element 0 of leaf 0 is 4.5 on",
               "4 on 4 replicas");
  EXPECT_EQ(report.reductions, GetParam().has_many ? 1 : 2);
}

// The means 1.5, 3.5, 5.5 and 7.5 of equal shares have the sum 18.
TEST_P(EachStrategy, NamesASumInPlaceOfAMean) {
  int line = 0;
  const OneReplicaReport report = report_of([&](Strategy& strategy) {
    strategy.run([&](ReplicaContext& replica) {
      const Tensor<float> mean =
          Tensor<float>::full({3}, static_cast<float>(mean_of(share_of(replica))));
      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& means) {
            line = __LINE__ + 1;
            cross.reduce(ReduceOp::kSum, means);
          },
          mean);
    });
  });
  expect_named(report, "#1 of merge_call at " + here(line) + " differs: element 0 of leaf 0 is 4.5",
               "18 on 4 replicas");
  const char* const factor = GetParam().has_many ? "4 times too large" : "";
  EXPECT_THAT(report.difference, HasSubstr(factor));
}

// After the first reduction every replica reads the sum of the share that was written last: 3, 7,
// 11 or 15. One replica reads 36.
TEST_P(EachStrategy, NamesACapturedValueThatWasNotReduced) {
  int line = 0;
  const OneReplicaReport report = report_of([&](Strategy& strategy) {
    double captured = 0;
    strategy.run([&](ReplicaContext& replica) {
      captured = sum_of(share_of(replica));
      replica.all_reduce(ReduceOp::kMean, mean_of(share_of(replica)));
      line = __LINE__ + 1;
      replica.all_reduce(ReduceOp::kMean, captured);
    });
  });
  expect_named(report, "#1 of all_reduce at " + here(line),
               "element 0 of leaf 0 is 36 on 1 replica");
}

INSTANTIATE_TEST_SUITE_P(SameAsOneReplica, EachStrategy, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return info.param.name; });

TEST(SameStrategies, BlameTheReductionOfAWrongStrategy) {
  const auto make = [](Backend& backend) { return std::make_unique<SumsForMeans>(backend); };
  const OneReplicaReport report =
      compare_with_one_replica({.replicas = 4, .strategy = make}, train);
  EXPECT_EQ(report.reductions, 0);
  // The bias 0.25 times the mean 4.5, and times the sum 18 of the means.
  EXPECT_THAT(report.difference, AllOf(StartsWith("#1 of all_reduce at "),
                                       HasSubstr("is 1.125 on 1 replica, 4.5 on 4 replicas")));
}

// Each replica takes a step of its own. The mean after one step is the step of one replica, as the
// gradient is linear in the examples. After two steps the mean is another: each gradient is of the
// replica's own weight.
TEST(SameStrategies, JudgeTheReductionsOfHooks) {
  const auto body = [](Strategy& strategy) {
    const auto weight = static_cast<LocalSgdStrategy&>(strategy).parameter(1.0);
    for (int step = 0; step < 2; ++step) {
      strategy.run([&](ReplicaContext& replica) {
        double& own = weight.on(replica);
        own -= 0.125 * mean_of(share_of(replica)) * own;
      });
    }
  };
  const auto local = [](int steps) {
    return [steps](Backend& backend) {
      return std::make_unique<LocalSgdStrategy>(backend, StrategyOptions{}, steps);
    };
  };
  EXPECT_EQ(compare_with_one_replica({.replicas = 4, .strategy = local(1)}, body),
            (OneReplicaReport{.reductions = 2}));
  // One replica: (1 - 4.5 / 8)^2. Four: the mean of the squares of 13/16, 9/16, 5/16 and 1/16.
  const OneReplicaReport report =
      compare_with_one_replica({.replicas = 4, .strategy = local(2)}, body);
  EXPECT_EQ(report.reductions, 0);
  EXPECT_THAT(report.difference,
              AllOf(StartsWith("#1 of the reduction at local_sgd_strategy.h:"),
                    HasSubstr("is 0.19140625 on 1 replica, 0.26953125 on 4 replicas")));
}

TEST(SameStrategies, NameTheDevicesOfASingleReplica) {
  const auto make = [](Backend& backend) {
    return std::make_unique<OneDeviceStrategy>(backend, backend.device_spec(0));
  };
  const OneReplicaReport report =
      compare_with_one_replica({.replicas = 4, .strategy = make}, [](Strategy& strategy) {
        const int devices = strategy.backend().device_count();
        strategy.run([&](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, devices); });
      });
  EXPECT_THAT(report.difference, HasSubstr("is 1 on 1 replica, 4 on 1 replica of 4 devices"));
}

TEST(SameStrategies, KeepOtherStrategiesOfTheBodyOut) {
  const OneReplicaReport report = compare_with_one_replica({.replicas = 4}, [](Strategy& strategy) {
    MirroredStrategy second(strategy.backend());
    second.run([](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, replica.num_replicas());
    });
    // A comparison in the body has a tape of its own.
    const auto inner = compare_with_one_replica({}, [](Strategy& inside) {
      inside.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kMean, 1.0); });
    });
    EXPECT_EQ(inner, (OneReplicaReport{.reductions = 1}));
    strategy.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kMean, 1.0); });
  });
  EXPECT_EQ(report, (OneReplicaReport{.reductions = 1}));
}

TEST(SameStrategies, MustFitTheDevices) {
  const auto code = [](const MakeStrategy& make) {
    return code_of([&] {
      (void)compare_with_one_replica({.replicas = 4, .strategy = make}, [](Strategy&) {});
    });
  };
  EXPECT_EQ(code([](Backend&) { return nullptr; }), ErrorCode::kInvalidArgument);
  sim::Backend own({.devices = 2});
  EXPECT_EQ(code([&](Backend&) { return std::make_unique<MirroredStrategy>(own); }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(to_string(OneReplicaOptions{.strategy = [](Backend&) { return nullptr; }}),
            "OneReplicaOptions{.replicas = 2, .strategy = \"a function\"}");
}

}  // namespace
}  // namespace belfry::testing::same_strategies_test
