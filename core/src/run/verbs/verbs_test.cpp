// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Destinations, axes, results of updates, groups and configuration: examples and refusals.
#include "belfry/backend/host_backend.h"
#include "belfry/current.h"
#include "belfry/indexed_slices.h"
#include "belfry/reduction.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/vjp.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace elsewhere {

// A type of users that names devices.
struct Rack {
  std::vector<belfry::DeviceSpec> specs;
};
std::vector<belfry::DeviceSpec> devices_of(const Rack& rack) { return rack.specs; }

}  // namespace elsewhere

namespace belfry::verbs_test {
namespace {

using ::testing::AllOf;
using testing::at_each_place;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr CallSite kHere{"train.cc", 11};

class Verbs : public ::testing::Test {
 protected:
  DeviceSpec device(int index) { return backend_.device_spec(index); }
  Tensor<float> on(int index, float value) {
    return Tensor<float>::full({1}, value, Placement{&backend_, index});
  }

  HostBackend backend_{4};
  MirroredStrategy strategy_{backend_, {.devices = {device(0), device(1), device(2)}}};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
  PerReplica<int> ids_{0, 1, 2};
};

TEST_F(Verbs, ADestinationMayBeAUsersType) {
  testing::asserts("SEM-122");
  const elsewhere::Rack rack{{device(3), device(1)}};
  const auto sum = cross_.reduce(ReduceOp::kSum, ids_, rack);
  EXPECT_THAT(sum.devices(), ElementsAre(device(3), device(1)));
  EXPECT_EQ(sum.on(device(1)), 3);
  EXPECT_TRUE(sum.is_on(device(3)));
  EXPECT_FALSE(sum.is_on(device(0)));
}

// The strategy's first device is not the backend's.
TEST_F(Verbs, ATextThatLeavesFieldsOutMeansTheFirstDevices) {
  MirroredStrategy last(backend_, {.devices = {device(2), device(3)}});
  CrossReplicaContext& cross = last.cross_replica();
  for (const std::string text : {"/task:0", "/replica:0", "/job:localhost/task:0"}) {
    SCOPED_TRACE(text);
    EXPECT_THAT(cross.broadcast(1, text).devices(), ElementsAre(device(2)));
  }
  EXPECT_THAT(cross.broadcast(1, "/cpu:3").devices(), ElementsAre(device(3)));
}

TEST_F(Verbs, AValueIsOnItsDevicesAlone) {
  const auto sum = cross_.reduce(ReduceOp::kSum, ids_, device(1));
  EXPECT_THAT(error_of([&] { sum.on(device(0), kHere); }),
              AllOf(HasSubstr("BF-038 a value has no component on"), HasSubstr("train.cc:11"),
                    HasSubstr("hint: it is on " + to_string(device(1)))));
  EXPECT_THAT(error_of([&] { static_cast<void>(sum[1]); }), HasSubstr("BF-038"));
}

TEST_F(Verbs, DestinationsAreRefusedBeforeAnythingIsReduced) {
  testing::asserts("SEM-122");
  const auto before = strategy_.statistics();
  const std::pair good{ids_, device(0)};
  const std::pair bad{ids_, std::string("/device:CPU:9")};
  EXPECT_THAT(error_of([&] { cross_.batch_reduce(ReduceOp::kSum, good, bad, kHere); }),
              AllOf(HasSubstr("BF-038"), HasSubstr("CPU:9 is not a device of this backend"),
                    HasSubstr("train.cc:11")));
  EXPECT_EQ(strategy_.statistics(), before);
}

TEST_F(Verbs, VariablesOfAnotherStrategyAreNoDestination) {
  MirroredStrategy other(backend_);
  const auto variable = other.mirrored_variable(1);
  EXPECT_THAT(error_of([&] { cross_.broadcast(1, variable, kHere); }),
              AllOf(HasSubstr("BF-004"), HasSubstr("train.cc:11")));
  EXPECT_THAT(error_of([&] { cross_.fetch(variable, device(0), kHere); }), HasSubstr("BF-004"));
  EXPECT_THAT(error_of([&] { strategy_.non_slot_devices(variable); }), HasSubstr("BF-004"));
}

TEST_F(Verbs, BelongToTheCrossReplicaContext) {
  const auto mirrored = cross_.broadcast(1);
  const PerReplica<std::vector<int>> lists{{1}, {2}, {3}};
  const auto refused = [&](const char* verb, const auto& call) {
    EXPECT_THAT(
        error_of([&] { strategy_.run([&](ReplicaContext&) { call(); }); }),
        AllOf(HasSubstr("BF-001"), HasSubstr(std::string(verb) + " is cross-replica work")));
  };
  refused("reduce", [&] { cross_.reduce(ReduceOp::kSum, ids_, device(0)); });
  refused("reduce", [&] { cross_.reduce(ReduceOp::kSum, lists, Axis(0)); });
  refused("reduce", [&] { cross_.reduce(ReduceOp::kMean, mirrored); });
  refused("reduce_mapped", [&] { cross_.reduce_mapped(ReduceOp::kSum, lists); });
  refused("broadcast", [&] { cross_.broadcast(1, device(0)); });
  refused("fetch", [&] { cross_.fetch(mirrored); });
  refused("group", [&] { cross_.group(mirrored); });
  refused("local_results", [&] { cross_.local_results(mirrored); });
  refused("gather", [&] { cross_.gather(lists); });
  refused("map", [&] { cross_.map(std::vector<int>{1}, [](int x) { return x; }); });
  refused("configure", [&] { strategy_.configure({}); });
}

TEST_F(Verbs, LocalResultsAreTheComponents) {
  const auto variable = strategy_.replica_local_variable(ReduceOp::kSum, 4);
  strategy_.run([&](ReplicaContext& r) { variable.on(r) += r.replica_id(); });
  EXPECT_THAT(cross_.local_results(ids_), ElementsAre(0, 1, 2));
  EXPECT_THAT(cross_.local_results(cross_.broadcast(7)), ElementsAre(7, 7, 7));
  EXPECT_THAT(cross_.local_results(cross_.broadcast(7, device(3))), ElementsAre(7));
  EXPECT_THAT(strategy_.local_results(variable), ElementsAre(4, 5, 6));
  EXPECT_THAT(cross_.local_results(9), ElementsAre(9));
}

TEST_F(Verbs, UpdateNonSlotReturnsWhatTheCallsReturn) {
  testing::asserts("SEM-41");
  const auto offset = strategy_.mirrored_variable(10);
  const auto here = cross_.update_non_slot(
      {device(2), device(0)},
      [](int base, int x) {
        EXPECT_TRUE(current_update_device().has_value());
        return base + x + current_update_device()->index;
      },
      offset, 100);
  EXPECT_THAT(here.devices(), ElementsAre(device(2), device(0)));
  EXPECT_EQ(here[0], 112);
  EXPECT_EQ(here.on(device(0)), 110);
  // All devices are looked at before the first call.
  int calls = 0;
  EXPECT_THAT(
      error_of([&] { cross_.update_non_slot({device(0), device(3)}, [&] { ++calls; }, kHere); }),
      HasSubstr("BF-038"));
  EXPECT_EQ(calls, 0);
}

TEST_F(Verbs, UpdateEachReturnsWhatEachCallReturned) {
  testing::asserts("SEM-41");
  const VariableScope scope = strategy_.colocate_variables_with({device(2), device(1)});
  const auto variable = strategy_.mirrored_variable(5);
  const auto seen = cross_.update_each(variable, [](int& component) {
    component += 1;
    return current_update_device()->index;
  });
  EXPECT_THAT(seen, ElementsAre(1, 2));
  EXPECT_THAT(cross_.local_results(variable), ElementsAre(6, 6));
}

TEST_F(Verbs, AValueThatIsNotOnTheComponentsDeviceCannotUpdateIt) {
  const auto variable = strategy_.mirrored_variable(5);
  at_each_place(3, [&](int odd) {
    std::vector<DeviceSpec> others = strategy_.devices();
    others.erase(others.begin() + odd);
    const auto one = cross_.broadcast(1, others);
    EXPECT_THAT(
        error_of([&] { cross_.update(variable, [](int& own, int by) { own += by; }, one, kHere); }),
        AllOf(HasSubstr("BF-038"), HasSubstr(to_string(device(odd)))));
    EXPECT_THAT(cross_.local_results(variable), ElementsAre(5, 5, 5));
  });
}

TEST_F(Verbs, FetchOfAReplicaLocalVariableIsItsReduction) {
  const auto sum = strategy_.replica_local_variable(ReduceOp::kSum, on(0, 1));
  const auto first = strategy_.replica_local_variable(Aggregation::kOnlyFirst, 1);
  strategy_.run([&](ReplicaContext& r) {
    const auto id = static_cast<float>(r.replica_id());
    sum.on(r) = Tensor<float>::full({1}, id);
    first.on(r) = 7 - r.replica_id();
  });
  EXPECT_EQ(cross_.fetch(sum, device(3)).item(), 3);
  EXPECT_EQ(cross_.fetch(sum, device(2)).placement().device, 2);
  EXPECT_EQ(cross_.fetch(first, device(2), [](int x) { return -x; }), -7);
}

TEST_F(Verbs, FetchTakesOneDevice) {
  EXPECT_THAT(error_of([&] {
                cross_.fetch(cross_.broadcast(1), std::vector{device(0), device(1)}, kHere);
              }),
              AllOf(HasSubstr("BF-038 fetch brings a value to one device, not 2"),
                    HasSubstr("train.cc:11")));
}

TEST_F(Verbs, MapHandsOutArgumentsWhereElementsAre) {
  const auto variable = strategy_.mirrored_variable(100);
  const auto mapped = cross_.map(
      std::vector<int>{1, 2, 3, 4},
      [](int x, int base, int more) { return x + base + more + current_device().index; }, variable,
      1000);
  EXPECT_THAT(mapped[0], ElementsAre(1101, 1104));
  EXPECT_THAT(mapped[1], ElementsAre(1103));
  EXPECT_THAT(mapped[2], ElementsAre(1105));
  EXPECT_EQ(cross_.reduce_mapped(ReduceOp::kSum, mapped).value(), 4413);
}

TEST_F(Verbs, MappedResultsMustFitOneAnother) {
  using Lists = std::vector<std::vector<int>>;
  at_each_place(3, [&](int odd) {
    const auto lists = strategy_.distribute_values(
        [&](int id) { return id == odd ? Lists{{2, 3}} : Lists{{1}, {4}}; });
    EXPECT_THAT(error_of([&] { cross_.reduce_mapped(ReduceOp::kSum, lists, kHere); }),
                AllOf(HasSubstr("BF-020"),
                      HasSubstr("  replica " + std::to_string(odd) + "  train.cc:11  has int32[2]"),
                      HasSubstr("  replica " + std::to_string(odd == 0 ? 1 : 0) +
                                "  train.cc:11  has int32[1]")));
    // Without a list of replica `odd`, the lists of two replicas are compared.
    const auto two = strategy_.distribute_values([&](int id) {
      return id == odd ? Lists{} : id == (odd + 1) % 3 ? Lists{{1}} : Lists{{2, 3}};
    });
    EXPECT_THAT(error_of([&] { cross_.reduce_mapped(ReduceOp::kSum, two, kHere); }),
                AllOf(HasSubstr("  replica " + std::to_string((odd + 1) % 3) +
                                "  train.cc:11  has int32[1]"),
                      HasSubstr("  replica " + std::to_string((odd + 2) % 3) +
                                "  train.cc:11  has int32[2]")));
  });
}

TEST_F(Verbs, AllGatherComparesTheAxes) {
  at_each_place(3, [&](int odd) {
    EXPECT_THAT(error_of([&] {
                  strategy_.run([&](ReplicaContext& r) {
                    const Axis axis(r.replica_id() == odd ? 1 : 0);
                    r.all_gather(Tensor<float>::zeros({1, 1}), axis, kHere);
                  });
                }),
                AllOf(HasSubstr("BF-020 replicas ask for different axes"),
                      HasSubstr(lines_of_three(odd, "train.cc:11  gathers along 0",
                                               "train.cc:11  gathers along 1"))));
  });
}

// Also with a tag. Replica 0 has nothing.
TEST_F(Verbs, AllGatherAppendsListsOfTexts) {
  testing::asserts("SEM-121");
  const std::vector<std::string> all{"1:0", "2:0", "2:1"};
  const auto seen = strategy_.run([&](ReplicaContext& r) {
    std::vector<std::string> own;
    for (int i = 0; i < r.replica_id(); ++i) {
      own.push_back(std::to_string(r.replica_id()) + ':' + std::to_string(i));
    }
    EXPECT_EQ(r.all_gather(MergeTag("texts"), own), all);
    return r.all_gather(own);
  });
  EXPECT_THAT(seen, Each(all));
}

// Replica 2 lacks the second tensor.
TEST_F(Verbs, GathersOfListsNameEveryReplicaAndWhatToJoin) {
  EXPECT_EQ(error_of([&] {
              strategy_.run([&](ReplicaContext& r) {
                const auto count = static_cast<std::size_t>(r.replica_id() == 2 ? 1 : 2);
                r.all_gather(std::vector(count, Tensor<float>::zeros({1, 2})), kHere);
              });
            }),
            "BF-020 components of different structure cannot be combined (merge #1)\n"
            "  at train.cc:11\n"
            "  replicas 0,1  train.cc:11  has tensor float32[1,2] at leaf 1[1]\n"
            "  replica 2  train.cc:11  has 1 leaf\n"
            "  expected: the same structure, lengths and shapes in every component\n"
            "  hint: [1] is on replicas 0,1 and not on replica 2: bring lists of the same length; "
            "join lists of tensors first (concatenate), in place of an empty list a tensor without "
            "rows: zeros({0, columns})");
}

// A value of a different rank may have no such axis.
TEST_F(Verbs, GatherNamesTheShapesThatDoNotFit) {
  testing::asserts("SEM-121");
  const std::pair<Shape, int> strangers[] = {{{2, 4}, 0}, {{3}, 0},       {{3}, 1},
                                             {{3}, -1},   {Shape{}, 0},   {{2, 3, 1}, 1},
                                             {{4, 3}, 1}, {{2, 3, 1}, -1}};
  at_each_place(3, [&](int odd) {
    for (const auto& [shape, number] : strangers) {
      const Axis axis(number);
      const auto own = [&, &stranger = shape](int id) {
        return Tensor<float>::zeros(id == odd ? stranger : Shape{2, 3});
      };
      const auto rows = strategy_.distribute_values(own);
      const std::string text =
          "BF-020 values of these shapes cannot be gathered along one axis\n"
          "  at train.cc:11\n" +
          lines_of_three(odd, "train.cc:11  brings shape [2,3]",
                         "train.cc:11  brings shape " + to_string(shape)) +
          "  expected: the same rank, and the same extents but for the axis, on every replica";
      EXPECT_EQ(error_of([&] { cross_.gather(rows, axis, kHere); }), text);
      EXPECT_EQ(error_of([&] { cross_.reduce(ReduceOp::kSum, rows, axis, kHere); }), text);
      EXPECT_THAT(error_of([&] {
                    strategy_.run(
                        [&](ReplicaContext& r) { r.all_gather(own(r.replica_id()), axis, kHere); });
                  }),
                  HasSubstr("BF-020 values of these shapes cannot be gathered along one axis"));
    }
  });
  const auto rows = strategy_.distribute_values([](int) { return Tensor<float>::zeros({2, 3}); });
  EXPECT_THAT(error_of([&] { cross_.gather(rows, Axis(2), kHere); }),
              HasSubstr("BF-021 gather along axis 2 of a value [2,3]"));
  EXPECT_THAT(error_of([&] { cross_.reduce(ReduceOp::kSum, rows, Axis(2), kHere); }),
              HasSubstr("BF-021 reduce along axis 2 of a value [2,3]"));
}

TEST_F(Verbs, AxisMeanRounds16BitsOnce) {
  // 2048 + 1 is a tie in 16 bits; in float the sum is 2051, and 2051 / 4 is 512.75.
  const auto lists = PerReplica<std::vector<Float16>>{
      {Float16(2048.0F), Float16(1.0F)}, {Float16(1.0F)}, {Float16(1.0F)}};
  EXPECT_EQ(static_cast<float>(cross_.reduce(ReduceOp::kMean, lists, Axis(0)).value()),
            static_cast<float>(Float16(512.75F)));
}

TEST_F(Verbs, ConfigureSetsTheOrderOfReductions) {
  testing::asserts("SEM-126");
  // 2^24 + 1 is a tie that goes to 2^24: the order shows.
  const PerReplica<float> values{16777216.0F, 1.0F, 1.0F};
  const auto sum = [&] { return cross_.reduce(ReduceOp::kSum, values).value(); };
  EXPECT_EQ(sum(), 16777216.0F);
  MirroredStrategy four(backend_, {.order = ReductionOrder::kTree});
  const PerReplica<float> more{16777216.0F, 1.0F, 1.0F, 1.0F};
  EXPECT_EQ(four.cross_replica().reduce(ReduceOp::kSum, more).value(), 16777218.0F);
  four.configure({.order = ReductionOrder::kReplicaOrder});
  EXPECT_EQ(four.cross_replica().reduce(ReduceOp::kSum, more).value(), 16777216.0F);
  four.configure({.devices = four.devices(), .order = ReductionOrder::kTree});
  EXPECT_EQ(four.cross_replica().reduce(ReduceOp::kSum, more).value(), 16777218.0F);
}

TEST_F(Verbs, ConfigureRefusesWhatCannotChange) {
  testing::asserts("SEM-126");
  EXPECT_EQ(error_of([&] { strategy_.configure({.devices = {device(3)}}, kHere); }),
            "BF-030 the devices of a strategy cannot change\n"
            "  at train.cc:11\n"
            "  hint: its variables live there: make another strategy");
  const auto refused = [&](const std::vector<DeviceSpec>& devices) {
    return error_of([&] { strategy_.configure({.devices = devices}); });
  };
  EXPECT_THAT(refused({device(1), device(0), device(2)}), HasSubstr("BF-030")) << "another order";
  EXPECT_THAT(refused({device(0), device(1), device(3)}), HasSubstr("BF-030"));
  EXPECT_THAT(refused({device(0), device(1)}), HasSubstr("BF-030"));
  const auto merge = [&](CrossReplicaContext&) { strategy_.configure({}, kHere); };
  EXPECT_THAT(error_of([&] { strategy_.run([&](ReplicaContext& r) { r.merge_call(merge); }); }),
              AllOf(HasSubstr("BF-002 a strategy cannot be configured while it runs"),
                    HasSubstr("train.cc:11")));
  const Scope scope = strategy_.scope();
  strategy_.configure({});
}

// Replica 1 takes no part (SEM-90): it brings nothing.
template <class T>
PerReplica<T> without_second(T first, T third) {
  detail::ReplicaArray<T> components(2);
  components.emplace_back(std::move(first));
  components.emplace_back(std::move(third));
  return PerReplica<T>(std::move(components), detail::Participants(3, {0, 2}));
}

TEST_F(Verbs, ReplicasThatTakeNoPartStillGetTensors) {
  const auto rows = without_second(Tensor<float>::full({2}, 1, strategy_.placement(0)),
                                   Tensor<float>::full({2}, 3, strategy_.placement(2)));
  const auto mean = cross_.reduce(ReduceOp::kMean, rows, Axis(0));
  for (int id : {0, 1, 2}) {
    EXPECT_EQ(mean[id].item(), 2);
    EXPECT_EQ(mean[id].placement(), strategy_.placement(id));
  }
  const auto gathered = strategy_.run(
      [](ReplicaContext& r, const Tensor<float>& own) { return r.all_gather(own); }, rows);
  EXPECT_FALSE(gathered.has(1));
  for (int id : {0, 2}) {
    EXPECT_THAT(gathered[id].to_host(), ElementsAre(1, 1, 3, 3));
    EXPECT_EQ(gathered[id].placement(), strategy_.placement(id));
  }
  const auto slices = strategy_.run(
      [](ReplicaContext& r, const Tensor<float>& own) {
        return all_gather_vjp(r, own, Tensor<float>::from({4}, std::vector<float>{1, 2, 3, 4}));
      },
      rows);
  EXPECT_THAT(slices[0].to_host(), ElementsAre(2, 4));
  EXPECT_THAT(slices[2].to_host(), ElementsAre(6, 8));
  const auto parts = gather_vjp(cross_, rows, gathered[0]);
  EXPECT_FALSE(parts.has(1));
  EXPECT_THAT(parts[2].to_host(), ElementsAre(3, 3));
  EXPECT_EQ(parts[2].placement(), strategy_.placement(2));
}

TEST_F(Verbs, GradientsOfAGatherAreCutAlongItsAxis) {
  const auto parts =
      strategy_.distribute_values([](int id) { return Tensor<float>::zeros({2, id + 1}); });
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto cotangent = Tensor<float>::from({2, 6}, numbers, strategy_.placement(0));
  for (const Axis axis : {Axis(1), Axis(-1)}) {
    const auto slices = gather_vjp(cross_, parts, cotangent, axis);
    EXPECT_THAT(slices[0].to_host(), ElementsAre(1, 7));
    EXPECT_THAT(slices[1].to_host(), ElementsAre(2, 3, 8, 9));
    EXPECT_THAT(slices[2].to_host(), ElementsAre(4, 5, 6, 10, 11, 12));
  }
}

TEST_F(Verbs, KnowWhereAVariableInOnePlaceLives) {
  CentralStorageStrategy central(backend_,
                                 {.devices = {device(0), device(1)}, .storage = device(3)});
  CrossReplicaContext& cross = central.cross_replica();
  const auto weight = central.mirrored_variable([] { return Tensor<float>::full({1}, 5); });
  const auto values = central.distribute_values(
      [](int id) { return Tensor<float>::full({1}, static_cast<float>(id + 1)); });
  const auto sum = cross.reduce(ReduceOp::kSum, values, weight);
  EXPECT_THAT(sum.devices(), ElementsAre(device(3)));
  const auto placements = cross.update_each(
      weight,
      [](Tensor<float>& own, const Tensor<float>& by) {
        add_to(own, by);
        return by.placement().device;
      },
      sum);
  EXPECT_THAT(placements, ElementsAre(3));
  const Tensor<float> fetched = cross.fetch(weight, device(1));
  EXPECT_EQ(fetched.item(), 8);
  EXPECT_EQ(fetched.placement().device, 1);
  EXPECT_THAT(central.non_slot_devices(weight), ElementsAre(device(3)));
  const auto seen = cross.update_non_slot(
      central.non_slot_devices(), [](const Tensor<float>& x) { return x.placement().device; }, sum);
  EXPECT_EQ(seen.value(), 3);
}

TEST_F(Verbs, GroupsOfNothingOnDevicesAreDone) {
  EXPECT_TRUE(cross_.group(ids_).done());
  EXPECT_TRUE(Completion().done());
  const auto variable = strategy_.mirrored_variable(on(0, 1));
  const Completion all = cross_.group(std::vector{variable, variable});
  all.wait();
  EXPECT_TRUE(all.done());
}

TEST_F(Verbs, ValuesOfOtherNumbersOfReplicasAreRefusedBeforeAnythingIsComputed) {
  const auto before = strategy_.statistics();
  const auto refused = [&](int replicas, const auto& verb) {
    EXPECT_THAT(error_of(verb), HasSubstr("BF-030 a value of " + std::to_string(replicas) +
                                          " replicas in a strategy of 3"));
  };
  using Lists = PerReplica<std::vector<int>>;
  using Words = PerReplica<std::vector<std::string>>;
  using Tensors = PerReplica<Tensor<float>>;
  using Slices = PerReplica<IndexedSlices<float>>;
  const Axis rows(0);
  refused(0, [&] { cross_.reduce(ReduceOp::kSum, PerReplica<double>{}); });
  refused(2, [&] { cross_.reduce(ReduceOp::kSum, PerReplica<double>{1, 2}); });
  refused(4, [&] { cross_.reduce(ReduceOp::kMean, PerReplica<double>{1, 2, 3, 4}); });
  refused(0, [&] { cross_.reduce(ReduceOp::kSum, Tensors{}); });
  refused(2, [&] { cross_.reduce(ReduceOp::kSum, Tensors{on(0, 1), on(1, 1)}); });
  refused(0, [&] { cross_.reduce(TruncatedMean{}, PerReplica<int>{}); });
  refused(1, [&] { cross_.reduce(ReduceOp::kSum, PerReplica<int>{1}, device(0)); });
  refused(0, [&] { cross_.reduce(ReduceOp::kSum, Lists{}, rows); });
  refused(2, [&] { cross_.reduce(ReduceOp::kSum, Tensors{on(0, 1), on(1, 1)}, rows); });
  refused(1, [&] { cross_.reduce_mapped(ReduceOp::kSum, Lists{{1}}); });
  refused(0, [&] { cross_.gather(Lists{}); });
  refused(1, [&] { cross_.gather(Words{{"a"}}); });
  refused(4, [&] { cross_.gather(Tensors{on(0, 1), on(1, 1), on(2, 1), on(3, 1)}); });
  // The first value of the batch is valid, and stays unused.
  refused(2, [&] { cross_.batch_reduce(ReduceOp::kSum, ids_, PerReplica<int>{1, 2}); });
  refused(2, [&] {
    cross_.batch_reduce(ReduceOp::kSum, ids_, std::pair(PerReplica<int>{1, 2}, device(0)));
  });
  refused(0, [&] { reduce_slices(cross_, ReduceOp::kSum, Slices{}); });
  refused(0, [&] { broadcast_vjp(cross_, PerReplica<float>{}); });
  refused(0, [&] { gather_vjp(cross_, Lists{}, std::vector<int>{1}); });
  EXPECT_EQ(strategy_.statistics(), before);
}

TEST_F(Verbs, VariablesOnSomeDevicesAreReadAndFetchedAsEver) {
  const auto counter = [&] {
    const auto here = strategy_.colocate_variables_with(std::vector{device(0), device(2)});
    return strategy_.replica_local_variable(ReduceOp::kSum, 4);
  }();
  EXPECT_EQ(strategy_.read(counter), 8);
  EXPECT_EQ(cross_.fetch(counter), 8);
}

// The largest value, on any requested device.
struct Furthest {
  double combine(double folded, double next) const { return folded < next ? next : folded; }
  double finalize(double folded, int) const { return folded; }
};
struct Doubled {
  Tensor<float> combine(const Tensor<float>& folded, const Tensor<float>& next) const {
    return add(folded, next);
  }
  Tensor<float> finalize(const Tensor<float>& folded, int) const { return add(folded, folded); }
};

TEST_F(Verbs, FetchOfAVariableWithItsOwnReductionIsWhatReadGives) {
  const auto best = strategy_.replica_local_variable(Furthest{}, 1.0);
  at_each_place(3, [&](int odd) {
    strategy_.run([&](ReplicaContext& r) { best.on(r) = r.replica_id() == odd ? 10.0 : 1.0; });
    EXPECT_EQ(cross_.fetch(best), 10.0);
    EXPECT_EQ(cross_.fetch(best, device(2), [](double x) { return -x; }), -10.0);
  });
  const auto sum = strategy_.replica_local_variable(Doubled{}, on(0, 1.5F));
  const Tensor<float> fetched = cross_.fetch(sum, device(3));
  EXPECT_EQ(fetched.item(), 9);  // 2 * (1.5 + 1.5 + 1.5)
  EXPECT_EQ(fetched.placement().device, 3);
}

// Has variables and more, as a model has.
struct Layer {
  MirroredVariable<Tensor<float>> weight;
  std::string name;
  static auto members(auto& self) { return std::tie(self.weight, self.name); }
};

TEST_F(Verbs, GroupsLookIntoWhatHoldsTensors) {
  const auto devices = [&](const auto& value) {
    detail::DeviceWork found;
    detail::collect_work(cross_.core(), value, kHere, found);
    return std::vector<int>(found.devices.begin(), found.devices.end());
  };
  const auto weight = strategy_.mirrored_variable(on(0, 1));
  const auto everywhere = ElementsAre(0, 1, 2);
  EXPECT_THAT(devices(weight), everywhere);
  EXPECT_THAT(
      devices(std::map<std::string, Variable<Tensor<float>>>{{"w", strategy_.variable(on(0, 1))}}),
      everywhere);
  EXPECT_THAT(devices(std::optional(weight)), everywhere);
  EXPECT_THAT(devices(std::optional<Tensor<float>>()), ElementsAre());
  EXPECT_THAT(devices(Layer{weight, "dense"}), everywhere);
  EXPECT_THAT(devices(std::vector{std::pair(1, std::array{Layer{weight, "dense"}})}), everywhere);
  const auto index = Tensor<std::int64_t>::full({1}, 0, {&backend_, 2});
  const IndexedSlices<float> slices{on(1, 1), index, Shape{4}};
  EXPECT_THAT(devices(slices), ElementsAre(1, 2));
  EXPECT_THAT(devices(Gradient<float>(slices)), ElementsAre(1, 2));
  EXPECT_THAT(devices(PerReplica<IndexedSlices<float>>{slices, slices, slices}), ElementsAre(1, 2));
  EXPECT_THAT(devices(on(3, 1).any()), ElementsAre(3));
  EXPECT_THAT(devices(std::tuple(7, std::vector<bool>{true}, std::string("x"))), ElementsAre());
}

TEST(Divisions, By257Round16BitFloatsOnce) {
  testing::asserts("SEM-31", "SEM-33");
  // 256 / 257 is 0.99610..., between the bfloat16 numbers 0.99609375 and 1, and nearest to the
  // former. As a bfloat16, 257 is 256.
  constexpr int kReplicas = 257;
  HostBackend backend(kReplicas);
  MirroredStrategy strategy(backend);
  CrossReplicaContext& cross = strategy.cross_replica();
  const BFloat16 large(256.0F);
  const auto tensor = Tensor<BFloat16>::full({1}, large, strategy.placement(0));
  const auto number = [](BFloat16 x) { return static_cast<float>(x); };
  const auto item = [&](const Tensor<BFloat16>& x) { return number(x.item()); };
  constexpr float kExpected = 0.99609375F;
  EXPECT_EQ(number(reduce_vjp(cross, ReduceOp::kMean, large).value()), kExpected);
  EXPECT_EQ(number(reduce_vjp(cross, ReduceOp::kMean, std::vector{large}).value()[0]), kExpected);
  EXPECT_EQ(item(reduce_vjp(cross, ReduceOp::kMean, tensor).value()), kExpected);
  detail::ReplicaArray<BFloat16> numbers(kReplicas);
  detail::ReplicaArray<Tensor<BFloat16>> tensors(kReplicas);
  detail::ReplicaArray<IndexedSlices<BFloat16>> slices(kReplicas);
  for (int replica = 0; replica < kReplicas; ++replica) {
    const Placement place = strategy.placement(replica);
    const BFloat16 own = replica == 0 ? large : BFloat16(0.0F);
    numbers.emplace_back(own);
    tensors.emplace_back(Tensor<BFloat16>::full({1}, own, place));
    slices.emplace_back(IndexedSlices<BFloat16>{
        Tensor<BFloat16>::full({1}, own, place), Tensor<std::int64_t>::full({1}, 0, place), {1}});
  }
  const TruncatedMean mean;
  EXPECT_EQ(number(cross.reduce(mean, PerReplica(std::move(numbers))).value()), kExpected);
  EXPECT_EQ(item(cross.reduce(mean, PerReplica(std::move(tensors))).value()), kExpected);
  const auto rows = reduce_slices(cross, ReduceOp::kMean, PerReplica(std::move(slices)));
  EXPECT_EQ(number(rows.value().values.to_host()[0]), kExpected);
}

}  // namespace
}  // namespace belfry::verbs_test
