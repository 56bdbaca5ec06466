// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Values of users without a component for some replicas, in each verb (SEM-90, SEM-91).
#include "belfry/backend/host_backend.h"
#include "belfry/indexed_slices.h"
#include "belfry/reduction.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "belfry/vjp.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::made_values_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr CallSite kHere{"train.cc", 11};

struct Largest {
  double combine(double folded, double next) const { return std::max(folded, next); }
  double finalize(double folded, int /*replicas*/) const { return folded; }
};

class MadeValues : public ::testing::Test {
 protected:
  // 2 on replica 0 and 8 on replica 2; nothing on replica 1.
  PerReplica<double> numbers() const { return PerReplica<double>::from({2.0, std::nullopt, 8.0}); }
  // Three times 2 on replica 0, three times 8 on replica 2.
  PerReplica<Tensor<float>> tensors() {
    using Maybe = std::optional<Tensor<float>>;
    return PerReplica<Tensor<float>>::from({Maybe(tensor(0, 2)), Maybe(), Maybe(tensor(2, 8))});
  }
  Tensor<float> tensor(int device, float value) {
    return Tensor<float>::full({3}, value, Placement{&backend_, device});
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(MadeValues, HaveTheComponentsOfTheirEntries) {
  const auto value = numbers();
  EXPECT_EQ(value.size(), 3);
  EXPECT_TRUE(value.has(0) && !value.has(1) && value.has(2));
  EXPECT_THAT(value, ElementsAre(2, 8));
  EXPECT_EQ(value[2], 8);
  const PerReplica<int> whole = PerReplica<int>::from({1, 2});
  EXPECT_EQ(whole, (PerReplica<int>{1, 2}));
  EXPECT_THAT(PerReplica<bool>::from({std::nullopt, true}), ElementsAre(true));
}

TEST_F(MadeValues, NeedAComponent) {
  using Values = PerReplica<double>;
  EXPECT_THAT(
      error_of([] { Values::from({std::nullopt, std::nullopt}, kHere); }),
      AllOf(HasSubstr("BF-030 none of 2 replicas has a component"), HasSubstr("train.cc:11")));
  EXPECT_THAT(error_of([] { Values::from({}, kHere); }),
              HasSubstr("BF-030 none of 0 replicas has a component"));
}

TEST_F(MadeValues, NameTheReplicaWithoutAComponent) {
  const auto value = numbers();
  EXPECT_THAT(
      error_of([&] { static_cast<void>(value[1]); }),
      AllOf(HasSubstr("BF-030 replica 1 has no component"), HasSubstr("a replica among 0 2")));
  // Every replica waits for the result of the merge.
  EXPECT_THAT(error_of([&] {
                strategy_.run([&](ReplicaContext& replica) {
                  return replica.merge_call([&](CrossReplicaContext&) { return numbers(); });
                });
              }),
              HasSubstr("BF-030 replica 1 has no component"));
}

TEST_F(MadeValues, AreReducedOverTheReplicasThatHaveThem) {
  testing::asserts("SEM-91");
  const auto sum = cross_.reduce(ReduceOp::kSum, numbers());
  EXPECT_EQ(sum.size(), 3);
  EXPECT_EQ(sum[1], 10);
  EXPECT_EQ(cross_.reduce(ReduceOp::kMean, numbers())[1], 5);
  EXPECT_EQ(cross_.reduce(ReduceOp::kMean, numbers(), backend_.device_spec(1)).value(), 5);
  EXPECT_EQ(cross_.reduce(Largest(), numbers())[1], 8);
  const auto mean = cross_.reduce(ReduceOp::kMean, tensors());
  EXPECT_THAT(mean[1].to_host(), ElementsAre(5, 5, 5));
  EXPECT_EQ(mean[1].placement().device, 1);
  const auto [numbers_sum, tensors_sum] = cross_.batch_reduce(ReduceOp::kSum, numbers(), tensors());
  EXPECT_EQ(numbers_sum[0], 10);
  EXPECT_THAT(tensors_sum[2].to_host(), ElementsAre(10, 10, 10));
}

TEST_F(MadeValues, AreReducedAlongAnAxisAndOverLists) {
  const auto lists = PerReplica<std::vector<double>>::from(
      {std::vector<double>{1, 2}, std::nullopt, std::vector<double>{6}});
  EXPECT_EQ(cross_.reduce(ReduceOp::kMean, lists, Axis(0))[1], 3);
  EXPECT_EQ(cross_.reduce_mapped(ReduceOp::kSum, lists)[1], 9);
  // 3 elements of 2 and 3 of 8.
  EXPECT_EQ(cross_.reduce(ReduceOp::kMean, tensors(), Axis(0))[1].item(), 5);
}

TEST_F(MadeValues, AreGatheredFromTheReplicasThatHaveThem) {
  testing::asserts("SEM-121");
  EXPECT_THAT(cross_.gather(tensors()).to_host(), ElementsAre(2, 2, 2, 8, 8, 8));
  const auto words = PerReplica<std::vector<std::string>>::from(
      {std::nullopt, std::vector<std::string>{"b"}, std::vector<std::string>{"c"}});
  EXPECT_THAT(cross_.gather(words), ElementsAre("b", "c"));
}

TEST_F(MadeValues, AreListedAndGroupedAndPartsOfDerivatives) {
  EXPECT_THAT(strategy_.local_results(numbers()), ElementsAre(2, 8));
  cross_.group(tensors()).wait();
  const auto gradient = reduce_vjp(cross_, ReduceOp::kMean, numbers(), 6.0);
  EXPECT_EQ(gradient, PerReplica<double>::from({3.0, std::nullopt, 3.0}));
  const auto slice =
      gather_vjp(cross_,
                 PerReplica<std::vector<double>>::from(
                     {std::vector<double>{1}, std::nullopt, std::vector<double>{2, 3}}),
                 std::vector<double>{7, 8, 9});
  EXPECT_FALSE(slice.has(1));
  EXPECT_THAT(slice[2], ElementsAre(8, 9));
}

TEST_F(MadeValues, OfSlicesBringNoRowsOfTheOtherReplicas) {
  const auto rows = Tensor<std::int64_t>::full({1}, 2, Placement{&backend_, 2});
  const auto slices =
      indexed_slices(Tensor<float>::full({1, 2}, 4, Placement{&backend_, 2}), rows, Shape{5, 2});
  using Slices = PerReplica<IndexedSlices<float>>;
  const auto mean =
      reduce_slices(cross_, ReduceOp::kMean, Slices::from({std::nullopt, std::nullopt, slices}));
  EXPECT_THAT(mean[0].values.to_host(), ElementsAre(4, 4));
}

}  // namespace
}  // namespace belfry::made_values_test
