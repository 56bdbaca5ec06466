// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reports about structures that differ between replicas.
#include "reported.h"

#include "belfry/reduction.h"
#include "belfry/tensor_ops.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::reported_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Ways, Reported, ::testing::ValuesIn(ways()),
                         [](const auto& info) { return info.param.name; });

// Each replica decides by its own loss whether to train a layer.
TEST_P(Reported, ALayerFrozenOnSomeReplicasIsNamed) {
  const auto head = strategy_.mirrored_variable(1.0, {.name = "head"});
  const auto body = strategy_.mirrored_variable(1.0, {.name = "body"});
  const auto step = [&](int training) {
    return [&, training](ReplicaContext& replica) {
      std::map<std::string, double> gradients{{"head", 1}};
      if (replica.replica_id() == training) gradients["body"] = 1;
      gradients = replica.all_reduce(ReduceOp::kMean, gradients);
      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<std::map<std::string, double>>& all) {
            for (const auto& [name, by] : all[0]) {
              cross.update(name == "head" ? head : body, [by = by](double& w) { w -= by; });
            }
          },
          gradients);
    };
  };
  const int none = 3;
  strategy_.run(step(none));
  for (const int training : {0, 1, 2}) {
    EXPECT_THAT(error_of(step(training)),
                AllOf(HasSubstr("BF-020"),
                      HasSubstr("{body} is on replica " + std::to_string(training) + " and not on"),
                      HasSubstr("zeros where a replica has no value")));
  }
  strategy_.run(step(none));
  EXPECT_EQ(strategy_.read(head), -1);
  EXPECT_EQ(strategy_.read(body), 1);
}

struct Statistics {
  double mean = 0;
  std::int64_t batches = 0;
  static auto members(auto& self) { return std::tie(self.mean, self.batches); }
};

// The mean of 1, 2 and 3; the count is equal everywhere.
TEST_P(Reported, StatisticsWithACountHaveAMean) {
  const auto own = [](const ReplicaContext& replica) {
    return Statistics{1.0 + replica.replica_id(), 7};
  };
  EXPECT_THAT(
      error_of([&](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kMean, own(replica)); }),
      AllOf(HasSubstr("BF-035"), HasSubstr("at leaf 1[1]"), HasSubstr("TruncatedMean{}")));
  const auto means = strategy_.run(
      [&](ReplicaContext& replica) { return replica.all_reduce(TruncatedMean{}, own(replica)); });
  for (const Statistics& each : means) {
    EXPECT_EQ(each.mean, 2);
    EXPECT_EQ(each.batches, 7);
  }
}

// Replica k has 2 - k results of a metric: the last has none.
TEST_P(Reported, ListsOfOtherLengthsAreJoinedBeforeAGather) {
  const auto list = [](const ReplicaContext& replica) {
    std::vector<Tensor<float>> own;
    for (int i = replica.replica_id(); i < 2; ++i) {
      own.push_back(Tensor<float>::full({1, 2}, 10.0F * replica.replica_id() + i));
    }
    return own;
  };
  EXPECT_THAT(error_of([&](ReplicaContext& replica) { replica.all_gather(list(replica)); }),
              AllOf(HasSubstr("BF-020"), HasSubstr("replicas 0,1 "), HasSubstr("replica 2 "),
                    HasSubstr("join lists of tensors first")));
  const auto all = strategy_.run([&](ReplicaContext& replica) {
    std::vector<Tensor<float>> own = list(replica);
    own.insert(own.begin(), Tensor<float>::zeros({0, 2}));
    return replica.all_gather(concatenate(own)).to_host();
  });
  EXPECT_THAT(all, Each(ElementsAre(0, 0, 1, 1, 11, 11)));
}

// Replica k names its k examples.
TEST_P(Reported, NamesOfExamplesAreGathered) {
  const auto all = strategy_.run([](ReplicaContext& replica) {
    const auto count = static_cast<std::size_t>(replica.replica_id());
    return replica.all_gather(std::vector<std::string>(count, std::to_string(count)));
  });
  EXPECT_THAT(all, Each(ElementsAre("1", "2", "2")));
}

}  // namespace
}  // namespace belfry::reported_test
