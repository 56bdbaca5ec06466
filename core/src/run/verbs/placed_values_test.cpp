// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Values on some devices as arguments of updates and as results of merges, and mirrored values as
// arguments of reductions.
#include "belfry/backend/host_backend.h"
#include "belfry/indexed_slices.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::placed_values_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PlacedValues : public ::testing::Test {
 protected:
  DeviceSpec device(int index) { return backend_.device_spec(index); }
  Tensor<float> tensor(int device, float value) {
    return Tensor<float>::full({2}, value, Placement{&backend_, device});
  }
  // 1, 2 and 3 on the devices of their replicas: the sum is 6.
  PerReplica<Tensor<float>> tensors() { return {tensor(0, 1), tensor(1, 2), tensor(2, 3)}; }

  // Replicas on devices 0 to 2; device 3 has no replica.
  HostBackend backend_{4};
  MirroredStrategy strategy_{backend_, {.devices = {device(0), device(1), device(2)}}};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(PlacedValues, OnOneDeviceAreArgumentsOfUpdates) {
  testing::asserts("SEM-41");
  for (int home : {1, 3}) {
    const auto number = strategy_.mirrored_variable(1.0);
    const auto sum = cross_.reduce(ReduceOp::kSum, PerReplica<double>{1, 2, 3}, device(home));
    cross_.update(number, [](double& w, double s) { w += s; }, sum);
    EXPECT_THAT(strategy_.local_values(number), Each(7));

    const auto scope = strategy_.scope();
    const auto weight = strategy_.mirrored_variable([] { return Tensor<float>::full({2}, 1); });
    const auto total = cross_.reduce(ReduceOp::kSum, tensors(), device(home));
    std::vector<int> seen_on;
    cross_.update(
        weight,
        [&](Tensor<float>& w, const Tensor<float>& t) {
          seen_on.push_back(t.placement().device);
          add_to(w, t);
        },
        total);
    EXPECT_THAT(seen_on, ElementsAre(0, 1, 2)) << "the value was brought to each component";
    for (const auto& component : strategy_.local_values(weight)) {
      EXPECT_THAT(component.to_host(), ElementsAre(7, 7));
    }
  }
}

TEST_F(PlacedValues, OnOneDeviceAreArgumentsOfOtherFunctionsForDevices) {
  const auto total = cross_.reduce(ReduceOp::kSum, tensors(), device(3));
  const auto on_device = cross_.update_non_slot(
      std::vector{device(2)}, [](const Tensor<float>& t) { return t.placement().device; }, total);
  EXPECT_EQ(on_device.value(), 2);
  const auto lists = cross_.map(
      std::vector{10, 20}, [](int x, const Tensor<float>& t) { return x + t.placement().device; },
      total);
  EXPECT_THAT(lists[0], ElementsAre(10));
  EXPECT_THAT(lists[1], ElementsAre(21));
}

// A list of several devices is a choice of the program: a missing component is a mistake.
TEST_F(PlacedValues, OnSeveralDevicesNeedAComponentForEach) {
  testing::asserts("SEM-41");
  const auto number = strategy_.mirrored_variable(1.0);
  const auto sum =
      cross_.reduce(ReduceOp::kSum, PerReplica<double>{1, 2, 3}, std::vector{device(0), device(1)});
  EXPECT_THAT(error_of([&] { cross_.update(number, [](double& w, double s) { w += s; }, sum); }),
              AllOf(HasSubstr("BF-038"), HasSubstr(to_string(device(2)))));
  EXPECT_THAT(strategy_.local_values(number), Each(1));
}

TEST_F(PlacedValues, ThatAMergeReturnsAreUnpacked) {
  testing::asserts("SEM-13");
  const auto seen = strategy_.run([&](ReplicaContext& replica) {
    const Tensor<float> mine = Tensor<float>::full({2}, 1.0F + replica.replica_id());
    const Tensor<float> sum = replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& all) {
          return cross.reduce(ReduceOp::kSum, all,
                              std::vector{device(2), device(0), device(3), device(1)});
        },
        mine);
    return std::pair(sum.placement().device, sum.to_host());
  });
  for (int replica = 0; replica < 3; ++replica) {
    EXPECT_EQ(seen[replica].first, replica);
    EXPECT_THAT(seen[replica].second, ElementsAre(6, 6));
  }
}

TEST_F(PlacedValues, OnOneDeviceComeToEveryReplica) {
  testing::asserts("SEM-13");
  const auto seen = strategy_.run([&](ReplicaContext& replica) {
    const auto [sum, parts] = replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& all) {
          const auto there = cross.reduce(ReduceOp::kSum, all, device(3));
          return std::pair(there, std::map<std::string, MirroredOn<int>>{
                                      {"two", cross.broadcast(2, device(1))}});
        },
        Tensor<float>::full({2}, 1));
    return std::tuple(sum.placement().device, sum.to_host(), parts.at("two"));
  });
  for (int replica = 0; replica < 3; ++replica) {
    EXPECT_EQ(seen[replica], std::tuple(replica, std::vector<float>{3, 3}, 2));
  }
}

TEST_F(PlacedValues, ThatAMergeReturnsNeedAComponentForEachReplica) {
  testing::asserts("SEM-13");
  const auto run = [&](const auto&... args) {
    strategy_.run(
        [&](ReplicaContext& replica, const auto&...) {
          return replica.merge_call([&](CrossReplicaContext& cross) {
            return cross.broadcast(1, std::vector{device(0), device(2)});
          });
        },
        args...);
  };
  EXPECT_THAT(
      error_of([&] { run(); }),
      AllOf(HasSubstr("BF-038 a merge returned a value without a component for replica 1"),
            HasSubstr("the value is on " + to_string(device(0)) + " " + to_string(device(2)))));
  // Replica 1 takes no part and needs none.
  run(PerReplica<int>::from({1, std::nullopt, 1}));
}

// The replica function receives the whole value.
TEST_F(PlacedValues, AreHandedToRunsWhole) {
  const auto there = cross_.broadcast(5, device(3));
  const auto seen = strategy_.run(
      [](ReplicaContext&, const MirroredOn<int>& value) { return value.value(); }, there);
  EXPECT_THAT(seen, ElementsAre(5, 5, 5));
}

TEST_F(PlacedValues, ThatAreMirroredHaveAMeanAlongAnAxis) {
  testing::asserts("SEM-34");
  const auto list = cross_.broadcast(std::vector<double>{1, 2, 6});
  EXPECT_EQ(cross_.reduce(ReduceOp::kMean, list, Axis(0))[2], 3);
  const auto table =
      cross_.broadcast(Tensor<float>::from({2, 2}, {1, 2, 5, 10}, Placement{&backend_, 0}));
  const auto means = cross_.reduce(ReduceOp::kMean, table, Axis(0));
  for (int replica = 0; replica < 3; ++replica) {
    EXPECT_THAT(means[replica].to_host(), ElementsAre(3, 6));
    EXPECT_EQ(means[replica].placement().device, replica);
  }
  EXPECT_EQ(cross_.reduce_mapped(ReduceOp::kMean, list)[1], 3);
  EXPECT_THAT(error_of([&] {
                cross_.reduce(ReduceOp::kMean, cross_.broadcast(std::vector<int>{1}), Axis(0));
              }),
              HasSubstr("BF-035"));
  const Mirrored<std::vector<double>> of_two(2, [] {
    detail::ReplicaArray<std::vector<double>> shared(1);
    shared.emplace_back(std::vector<double>{1});
    return shared;
  }());
  EXPECT_THAT(error_of([&] { cross_.reduce(ReduceOp::kMean, of_two, Axis(0)); }),
              HasSubstr("BF-030"));
  EXPECT_THAT(error_of([&] { cross_.reduce_mapped(ReduceOp::kMean, of_two); }),
              HasSubstr("BF-030"));
}

TEST_F(PlacedValues, ThatAreMirroredSlicesAreTheirMean) {
  testing::asserts("SEM-34");
  const auto rows = Tensor<std::int64_t>::full({1}, 2, Placement{&backend_, 0});
  const auto slices =
      indexed_slices(Tensor<float>::full({1, 2}, 4, Placement{&backend_, 0}), rows, Shape{5, 2});
  const auto sum = reduce_slices(cross_, ReduceOp::kSum,
                                 PerReplica<IndexedSlices<float>>{slices, slices, slices});
  const auto mean = reduce_slices(cross_, ReduceOp::kMean, sum);
  EXPECT_THAT(mean[1].values.to_host(), ElementsAre(4, 4, 4, 4, 4, 4));
}

}  // namespace
}  // namespace belfry::placed_values_test
