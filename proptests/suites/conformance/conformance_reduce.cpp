// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about reductions. If belfry decides otherwise, the test has belfry's outcome,
// and a comment gives the reason. Code that must not compile is in core/src/compile_fail. Rows C01
// to C06 about the choice of an algorithm are in core/src/collectives/algorithm_choice_test.cpp,
// C05 is here too. Not covered, because belfry has no specs of algorithms: C14 and C15.
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/vjp.h"
#include "suites/algorithms.h"
#include "suites/residence.h"
#include "suites/strategy_fixture.h"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::testing::conformance_reduce {
namespace {

using Ints = std::vector<int>;
using Reals = std::vector<float>;
using Pair = std::pair<float, Reals>;

constexpr int kMost = 4;

float id_of(int replica) { return static_cast<float>(replica); }
float next_of(int replica) { return static_cast<float>(replica + 1); }
Tensor<float> tensor(Reals values) {
  return Tensor<float>::from({static_cast<std::int64_t>(values.size())}, values);
}

template <class Where>
class ReductionRows : public NumericRows<Where, StrategyFixture> {};

TYPED_TEST_F(ReductionRows, RED_01_SumOfIds) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture& fixture = this->fixture(n);
    const auto ids = per_replica(fixture, [](int id) { return TypeParam::number(id); });
    const auto sum = fixture.cross.reduce(ReduceOp::kSum, ids);
    EXPECT_EQ(TypeParam::value(sum.value()), n * (n - 1) / 2);
  }
}

// RED-02 to RED-04: replica i has i, i + 1 times.
template <class T>
std::vector<T> repeated_id(int id) {
  return std::vector<T>(static_cast<std::size_t>(id) + 1, static_cast<T>(id));
}

// The reduction of the ids over axis 0.
template <class Where, class T>
T reduced_ids(StrategyFixture& fixture, ReduceOp op) {
  const auto lists = per_replica(fixture, [](int id) { return Where::list(repeated_id<T>(id)); });
  return Where::value(fixture.cross.reduce(op, lists, Axis(0)).value());
}

TYPED_TEST_F(ReductionRows, RED_02_SumOverAnAxis) {
  const int sums[] = {0, 0, 2, 8, 20};
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture& fixture = this->fixture(n);
    EXPECT_EQ((reduced_ids<TypeParam, float>(fixture, ReduceOp::kSum)),
              static_cast<float>(sums[n]));
    EXPECT_EQ((reduced_ids<TypeParam, int>(fixture, ReduceOp::kSum)), sums[n]);
  }
}

TYPED_TEST_F(ReductionRows, RED_03_RED_04_MeanOverAnAxisCountsElements) {
  const float means[] = {0, 0, 2.0F / 3.0F, 4.0F / 3.0F, 2.0F};
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture& fixture = this->fixture(n);
    EXPECT_EQ((reduced_ids<TypeParam, float>(fixture, ReduceOp::kMean)), means[n]);
    // Overridden (RED-03): the mean of integers asks for a conversion first.
    EXPECT_EQ(code_of([&] { reduced_ids<TypeParam, int>(fixture, ReduceOp::kMean); }),
              ErrorCode::kIntegerMean);
  }
}

TYPED_TEST_F(ReductionRows, RED_05_TheSameListEverywhere) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture& fixture = this->fixture(n);
    const auto lists = per_replica(fixture, [](int) { return TypeParam::list(Reals{1, 2}); });
    const auto reduced = [&](ReduceOp op) {
      return TypeParam::value(fixture.cross.reduce(op, lists, Axis(0)).value());
    };
    EXPECT_EQ(reduced(ReduceOp::kMean), 1.5F);
    EXPECT_EQ(reduced(ReduceOp::kSum), static_cast<float>(3 * n));
  }
}

TYPED_TEST_F(ReductionRows, RED_06_SumOfOnesInAndOutOfTheScope) {
  for (int n = 1; n <= kMost; ++n) {
    StrategyFixture& fixture = this->fixture(n);
    const auto ones = per_replica(fixture, [](int) { return TypeParam::number(1.0F); });
    const auto sum = [&] {
      return TypeParam::value(fixture.cross.reduce(ReduceOp::kSum, ones).value());
    };
    EXPECT_EQ(sum(), static_cast<float>(n));
    const Scope scope = fixture.strategy.scope();
    EXPECT_EQ(sum(), static_cast<float>(n));
  }
}

// The result of each of two replicas for its pair.
template <class Where>
std::vector<Pair> all_reduced(StrategyFixture& fixture, ReduceOp op, const Pair& first,
                              const Pair& second) {
  return list_of(fixture.strategy.run([&](ReplicaContext& r) {
    const auto& [number, list] = r.replica_id() == 0 ? first : second;
    const auto reduced = r.all_reduce(op, std::pair{Where::number(number), Where::list(list)});
    return Pair(Where::value(reduced.first), Where::values(reduced.second));
  }));
}
std::vector<Pair> twice(const Pair& pair) { return {pair, pair}; }

TYPED_TEST_F(ReductionRows, RED_07_RED_08_AllReduce) {
  const Pair first(1, {39, 2});
  const Pair second(3, {3, 41});
  EXPECT_EQ(all_reduced<TypeParam>(this->fixture(2), ReduceOp::kSum, first, second),
            twice({4, {42, 43}}));
  EXPECT_EQ(all_reduced<TypeParam>(this->fixture(2), ReduceOp::kMean, first, second),
            twice({2, {21, 21.5}}));
}

// The gradient of all_reduce(op, x) * factor by x.
template <class Where>
std::vector<float> gradients(StrategyFixture& fixture, ReduceOp op, const Reals& factors) {
  return list_of(fixture.strategy.run([&](ReplicaContext& r) {
    const float factor = factors[static_cast<std::size_t>(r.replica_id())];
    return Where::value(all_reduce_vjp(r, op, Where::number(factor)));
  }));
}

TYPED_TEST_F(ReductionRows, RED_09_RED_10_Gradients) {
  EXPECT_EQ(gradients<TypeParam>(this->fixture(2), ReduceOp::kSum, {1, 3}), Reals({4, 4}));
  EXPECT_EQ(gradients<TypeParam>(this->fixture(2), ReduceOp::kMean, {1, 3}), Reals({2, 2}));
}

TYPED_TEST_F(ReductionRows, RED_12_GradientsOnOneReplica) {
  EXPECT_EQ(gradients<TypeParam>(this->fixture(1), ReduceOp::kSum, {4}), Reals({4}));
  EXPECT_EQ(gradients<TypeParam>(this->fixture(1), ReduceOp::kMean, {5}), Reals({5}));
}

TYPED_TEST_F(ReductionRows, RED_13_Nests) {
  const Pair first(1, {40, 1});
  const Pair second(3, {2, 98});
  EXPECT_EQ(all_reduced<TypeParam>(this->fixture(2), ReduceOp::kSum, first, second),
            twice({4, {42, 99}}));
  EXPECT_EQ(all_reduced<TypeParam>(this->fixture(2), ReduceOp::kMean, first, second),
            twice({2, {21, 49.5}}));
}

TYPED_TEST_F(ReductionRows, RED_15_WithAndWithoutAnAxis) {
  StrategyFixture& fixture = this->fixture(2);
  const auto rows = per_replica(fixture, [](int id) {
    return TypeParam::list(id == 0 ? Reals{0, 1, 2, 3} : Reals{4, 5, 6, 7});
  });
  EXPECT_EQ(TypeParam::values(fixture.cross.reduce(ReduceOp::kSum, rows).value()),
            Reals({4, 6, 8, 10}));
  EXPECT_EQ(TypeParam::value(fixture.cross.reduce(ReduceOp::kSum, rows, Axis(0)).value()), 28);
}

TYPED_TEST_F(ReductionRows, RED_16_TheLastBatch) {
  StrategyFixture& fixture = this->fixture(2);
  const auto rows = per_replica(
      fixture, [](int id) { return TypeParam::list(id == 0 ? Reals{0, 1, 2, 3} : Reals{4, 5}); });
  EXPECT_EQ(TypeParam::value(fixture.cross.reduce(ReduceOp::kMean, rows, Axis(0)).value()), 2.5F);
  EXPECT_EQ(code_of([&] { fixture.cross.reduce(ReduceOp::kMean, rows); }), ErrorCode::kStructure);
}

TYPED_TEST_F(ReductionRows, RED_17_ReduceToAVariableAndUpdateIt) {
  using Number = decltype(TypeParam::number(0.0F));
  for (int n : {1, 2}) {
    StrategyFixture& fixture = this->fixture(n);
    const auto v = fixture.strategy.mirrored_variable([] { return TypeParam::number(0.0F); });
    fixture.strategy.run([&](ReplicaContext& r) {
      const auto merge = [](CrossReplicaContext& cross, const MirroredVariable<Number>& variable,
                            const PerReplica<Number>& values) {
        cross.update(
            variable, [](Number& component, const Number& sum) { component = sum; },
            cross.reduce(ReduceOp::kSum, values, variable));
      };
      r.merge_call(merge, v, TypeParam::number(1.0F));
    });
    for (const Number& component : fixture.strategy.local_values(v)) {
      EXPECT_EQ(TypeParam::value(component), static_cast<float>(n));
    }
  }
}

TYPED_TEST_F(ReductionRows, RED_18_AllReduceOfOnes) {
  for (int n = 1; n <= kMost; ++n) {
    const auto sums = this->fixture(n).strategy.run([](ReplicaContext& r) {
      return TypeParam::value(r.all_reduce(ReduceOp::kSum, TypeParam::number(1.0F)));
    });
    for (float sum : sums) EXPECT_EQ(sum, static_cast<float>(n));
  }
}

TYPED_TEST_F(ReductionRows, RED_22_MeanOfAMirrored) {
  testing::asserts("SEM-34");
  StrategyFixture& fixture = this->fixture(2);
  const Scope scope = fixture.strategy.scope();
  const auto m = fixture.cross.broadcast(TypeParam::number(7.0F));
  const auto mean = fixture.cross.reduce(ReduceOp::kMean, m);
  static_assert(std::is_same_v<decltype(mean), decltype(m)>);
  for (int id : {0, 1}) {
    EXPECT_EQ(TypeParam::value(mean[id]), 7.0F);
    if constexpr (TypeParam::kOnDevices) {
      EXPECT_EQ(mean[id].placement(), fixture.placement(id));
    }
  }
}

TEST(Conformance, RED_23_X26_AxesThatAreNotThere) {
  testing::asserts("SEM-120");
  StrategyFixture fixture(2);
  const auto rows = per_replica(fixture, [](int) { return Reals{1, 2}; });
  for (int axis : {1, 3, -2}) {
    EXPECT_EQ(code_of([&] { fixture.cross.reduce(ReduceOp::kSum, rows, Axis(axis)); }),
              ErrorCode::kShape);
  }
  // Overridden: an axis is an Axis. A text is a device string, and "0" is no device string.
  EXPECT_EQ(code_of([&] { fixture.cross.reduce(ReduceOp::kSum, rows, "0"); }),
            ErrorCode::kDeviceString);
}

TYPED_TEST_F(ReductionRows, RED_26_DifferentNumbersOfLeaves) {
  using Leaves = std::vector<decltype(TypeParam::list(Reals()))>;
  StrategyFixture& fixture = this->fixture(3);
  const int none = 3;
  const auto reduce = [&](int odd) {
    return fixture.strategy.run([&](ReplicaContext& r) {
      const std::size_t count = r.replica_id() == odd ? 2 : 3;
      return r.all_reduce(ReduceOp::kSum, Leaves(count, TypeParam::list(Reals{1}))).size();
    });
  };
  at_each_place(3,
                [&](int odd) { EXPECT_EQ(code_of([&] { reduce(odd); }), ErrorCode::kStructure); });
  EXPECT_EQ(list_of(reduce(none)), std::vector<std::size_t>({3, 3, 3}));
}

TYPED_TEST_F(ReductionRows, RED_27_EqualNumbersOfLeavesInAnotherStructure) {
  using Lists = std::vector<std::vector<decltype(TypeParam::list(Reals()))>>;
  StrategyFixture& fixture = this->fixture(3);
  const auto x = [] { return TypeParam::list(Reals{1, 2}); };
  const auto y = [] { return TypeParam::list(Reals{3, 4}); };
  const auto straight = [&] { return Lists{{x()}, {y(), y()}}; };
  const auto other = [&] { return Lists{{x(), y()}, {y()}}; };
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(code_of([&] {
                fixture.strategy.run([&](ReplicaContext& r) {
                  r.all_reduce(ReduceOp::kSum, r.replica_id() == odd ? other() : straight());
                });
              }),
              ErrorCode::kStructure);
  });
  const auto sums = fixture.strategy.run([&](ReplicaContext& r) {
    return TypeParam::values(r.all_reduce(ReduceOp::kSum, straight())[1][1]);
  });
  for (const Reals& sum : sums) EXPECT_EQ(sum, Reals({9, 12}));
}

TEST(Conformance, RED_28_TheDefaultStrategy) {
  DefaultStrategy strategy;
  CrossReplicaContext& cross = strategy.cross_replica();
  const PerReplica<float> value{3};
  // In the strategy's own host memory: the strategy uses no other backend.
  const PerReplica<Tensor<float>> tensors =
      strategy.distribute_values([](int) { return tensor({3, 4}); });
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    EXPECT_EQ(cross.reduce(op, value).value(), 3);
    const Tensor<float> reduced = cross.reduce(op, tensors).value();
    EXPECT_EQ(reduced.to_host(), Reals({3, 4}));
    EXPECT_EQ(reduced.placement(), strategy.placement(0));
  }
}

// X01 to X03 and X08: x is 0, 1, ... and y is 1, 2, ..., by every order and
// algorithm and for every residence.
void expect_basics(int n, const StrategyOptions& options) {
  const float x_mean[] = {0, 0, 0.5, 1, 1.5};
  const float x_sum[] = {0, 0, 1, 3, 6};
  StrategyFixture fixture(n);
  fixture.strategy.configure(options);
  const auto check = [&](float (*own)(int), float mean, float sum) {
    const auto host = per_replica(fixture, own);
    const auto device = per_replica(fixture, [&](int id) { return tensor({own(id)}); });
    for (const auto& [op, wanted] : {std::pair{ReduceOp::kMean, mean}, {ReduceOp::kSum, sum}}) {
      EXPECT_EQ(fixture.cross.reduce(op, host).value(), wanted);
      for (const auto& got : list_of(fixture.cross.reduce(op, device))) {
        EXPECT_EQ(got.item(), wanted);
      }
    }
  };
  check(id_of, x_mean[n], x_sum[n]);
  check(next_of, x_mean[n] + 1, x_sum[n] + static_cast<float>(n));
}

TEST(Conformance, X01_X02_X03_ReduceOverOneTwoAndFourDevices) {
  for (int n : {1, 2, 4}) expect_basics(n, {});
}

TEST(Conformance, X08_X09_EveryWayToReduceGivesTheSame) {
  for (int n : {1, 2, 4}) {
    for (ReductionOrder order :
         {ReductionOrder::kReplicaOrder, ReductionOrder::kTree, ReductionOrder::kRing}) {
      expect_basics(n, {.order = order});
    }
    for (const auto& algorithm : every_algorithm()) {
      expect_basics(n, {.cross_device_ops = algorithm});
    }
  }
}

/// The host, by every kind of name, for two replicas on other devices.
template <class Visit>
void for_each_name_of_the_host(MirroredStrategy& strategy, const Visit& visit) {
  const DeviceSpec host = DeviceSpec::parse("/device:CPU:0");
  const DeviceSpec first = strategy.worker_devices()[0];
  visit(host, {host});
  visit("/device:CPU:0", {host});
  visit(std::string("/job:localhost/replica:0/task:0/device:CPU:0"), {host});
  visit("cpu", {host});
  visit(std::vector{host, first}, {host, first});
  visit(strategy.cross_replica().broadcast(1, host), {host});
  const auto there = [&] {
    const VariableScope scope = strategy.colocate_variables_with({first});
    return strategy.mirrored_variable(0.0F);
  }();
  visit(std::vector<std::vector<DeviceSpec>>{there.devices(), {host}}, {first, host});
}

/// Every kind of destination, for two replicas on devices 0 and 1 of three, and the devices meant.
template <class Visit>
void for_each_destination(StrategyFixture& fixture, MirroredStrategy& strategy,
                          const Visit& visit) {
  Backend& backend = *fixture.backend;
  const auto spec = [&](int device) { return backend.device_spec(device); };
  const auto both = strategy.mirrored_variable(0.0F);
  visit(spec(0), {spec(0)});
  visit(spec(2), {spec(2)});  // No replica there.
  visit(to_string(spec(1)), {spec(1)});
  visit("/task:0/device:" + spec(1).type + ":1", {spec(1)});
  visit(std::vector<DeviceSpec>{spec(1), spec(0)}, {spec(1), spec(0)});
  visit(std::vector<std::string>{to_string(spec(2)), to_string(spec(0))}, {spec(2), spec(0)});
  visit(both, {spec(0), spec(1)});
  visit(PerReplica<int>{1, 2}, {spec(0), spec(1)});
  visit(strategy.cross_replica().broadcast(1), {spec(0), spec(1)});
  visit(strategy.cross_replica().broadcast(1, spec(1)), {spec(1)});
  const auto beside = [&] {
    const VariableScope scope = strategy.colocate_variables_with({spec(1)});
    return strategy.mirrored_variable(0.0F);
  }();
  visit(beside, {spec(1)});
  for_each_name_of_the_host(strategy, visit);
}

using Devices = std::vector<DeviceSpec>;

struct Placed {
  Devices devices;
  Reals values;
  bool operator==(const Placed&) const = default;
};

// The components of `value` on their devices, each checked against its device.
Placed placed(Backend& backend, const MirroredOn<Tensor<float>>& value) {
  Placed out{value.devices(), {}};
  for (int i = 0; i < value.size(); ++i) {
    const Placement& place = value[i].placement();
    EXPECT_EQ(backend.device_spec(place.device), value.devices()[static_cast<std::size_t>(i)]);
    EXPECT_EQ(value.on(value.devices()[static_cast<std::size_t>(i)]).to_host(), value[i].to_host());
    out.values.push_back(value[i].item());
  }
  return out;
}

struct TwoOfThree {
  StrategyFixture fixture{3};
  MirroredStrategy strategy{
      *fixture.backend,
      {.devices = {fixture.backend->device_spec(0), fixture.backend->device_spec(1)}}};
  CrossReplicaContext& cross = strategy.cross_replica();
  PerReplica<Tensor<float>> x =
      strategy.distribute_values([](int id) { return tensor({id_of(id)}); });
  PerReplica<Tensor<float>> y =
      strategy.distribute_values([](int id) { return tensor({next_of(id)}); });
};

Reals times(std::size_t count, float value) {
  Reals values(count, value);
  return values;
}

void expect_placed(Backend& backend, const MirroredOn<Tensor<float>>& value, const Devices& devices,
                   float wanted) {
  EXPECT_EQ(placed(backend, value), (Placed{devices, times(devices.size(), wanted)}));
}

TEST(Conformance, X04_X05_ReduceToEveryKindOfDestination) {
  TwoOfThree two;
  Backend& backend = *two.fixture.backend;
  for (const auto& algorithm : every_algorithm()) {
    two.strategy.configure({.cross_device_ops = algorithm});
    int kinds = 0;
    for_each_destination(
        two.fixture, two.strategy, [&](const auto& destination, const Devices& devices) {
          ++kinds;
          expect_placed(backend, two.cross.reduce(ReduceOp::kMean, two.x, destination), devices,
                        0.5F);
          expect_placed(backend, two.cross.reduce(ReduceOp::kSum, two.y, destination), devices, 3);
        });
    EXPECT_EQ(kinds, 18);
  }
  // Without a destination: the value's own devices.
  const auto own = two.cross.reduce(ReduceOp::kSum, two.y);
  for (int id : {0, 1}) EXPECT_EQ(own[id].placement(), two.strategy.placement(id));
}

// The strategy has one replica, on the host, on every backend.
TEST(Conformance, C05_TheHostIsReducedThere) {
  testing::asserts("SEM-122", "SEM-146");
  const auto backend = backend_factory().make(StrategyFixture::request_for(2));
  std::vector<std::string> lines;
  MirroredStrategy strategy(*backend,
                            {.devices = {DeviceSpec::parse("/cpu:0")},
                             .log = [&](const std::string& line) { lines.push_back(line); }});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("reduced to one device"), std::string::npos) << lines[0];
  EXPECT_EQ(strategy.worker_devices(), std::vector{DeviceSpec::parse("/cpu:0")});
  const auto sums = strategy.run(
      [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, tensor({3, 4})); });
  EXPECT_EQ(sums[0].to_host(), Reals({3, 4}));
  EXPECT_EQ(sums[0].placement().device, backend->connections().host);
}

// A destination of a type that stands for all others.
struct SomeDevices {
  Devices devices;
};
Devices devices_of(const SomeDevices& destination) { return destination.devices; }

// Each destination is the first and the second of a pair with the devices of every destination: a
// pair of types each would be 121 instantiations.
TEST(Conformance, X06_BatchReduceToEveryPairOfDestinations) {
  TwoOfThree two;
  Backend& backend = *two.fixture.backend;
  std::vector<SomeDevices> others;
  for_each_destination(two.fixture, two.strategy,
                       [&](const auto&, const Devices& devices) { others.push_back({devices}); });
  int pairs = 0;
  const auto check = [&](const auto& d1, const Devices& on1, const auto& d2, const Devices& on2) {
    ++pairs;
    const auto [mean_x, mean_y] =
        two.cross.batch_reduce(ReduceOp::kMean, std::pair{two.x, d1}, std::pair{two.y, d2});
    expect_placed(backend, mean_x, on1, 0.5F);
    expect_placed(backend, mean_y, on2, 1.5F);
    const auto [sum_x, sum_y] =
        two.cross.batch_reduce(ReduceOp::kSum, std::pair{two.x, d1}, std::pair{two.y, d2});
    expect_placed(backend, sum_x, on1, 1.0F);
    expect_placed(backend, sum_y, on2, 3.0F);
  };
  for_each_destination(two.fixture, two.strategy,
                       [&](const auto& destination, const Devices& devices) {
                         for (const SomeDevices& other : others) {
                           check(destination, devices, other, other.devices);
                           check(other, other.devices, destination, devices);
                         }
                       });
  EXPECT_EQ(pairs, 2 * 18 * 18);
  // A list with a length known only at run time.
  using Pairs = std::vector<std::pair<PerReplica<Tensor<float>>, DeviceSpec>>;
  const Pairs list = {{two.x, backend.device_spec(1)}, {two.y, backend.device_spec(2)}};
  const auto sums = two.cross.batch_reduce(ReduceOp::kSum, list);
  EXPECT_EQ(placed(backend, sums[0]), (Placed{{backend.device_spec(1)}, {1}}));
  EXPECT_EQ(placed(backend, sums[1]), (Placed{{backend.device_spec(2)}, {3}}));
}

TEST(Conformance, X07_BroadcastToEveryKindOfDestination) {
  TwoOfThree two;
  const Scope scope = two.strategy.scope();
  for_each_destination(two.fixture, two.strategy,
                       [&](const auto& destination, const Devices& devices) {
                         expect_placed(*two.fixture.backend,
                                       two.cross.broadcast(tensor({1}), destination), devices, 1);
                       });
}

TEST(Conformance, X15_EmptyDestinations) {
  TwoOfThree two;
  EXPECT_EQ(code_of([&] { two.cross.reduce(ReduceOp::kSum, two.x, ""); }), ErrorCode::kDestination);
  EXPECT_EQ(code_of([&] { two.cross.reduce(ReduceOp::kSum, two.x, std::vector<DeviceSpec>()); }),
            ErrorCode::kDestination);
  EXPECT_EQ(code_of([&] { two.cross.broadcast(1, "/device:TPU:0"); }), ErrorCode::kDestination);
  const auto spec = two.fixture.backend->device_spec(0);
  EXPECT_EQ(code_of([&] { two.cross.broadcast(1, std::vector{spec, spec}); }),
            ErrorCode::kDuplicateDevice);
  EXPECT_EQ(code_of([&] { two.cross.broadcast(1, PerReplica<int>{1, 2, 3}); }),
            ErrorCode::kDestination);
  EXPECT_EQ(code_of([&] { two.cross.fetch(two.cross.broadcast(1), two.x); }),
            ErrorCode::kDestination);
}

TEST(Conformance, X19_ValuesOnDevicesInAnotherOrder) {
  StrategyFixture fixture(2);
  const auto straight = per_replica(fixture, [](int id) { return tensor({id_of(id)}); });
  const PerReplica<Tensor<float>> crossed{Tensor<float>::full({1}, 5, fixture.placement(1)),
                                          Tensor<float>::full({1}, 7, fixture.placement(0))};
  // Overridden: a component belongs to a replica, on whatever device, and the call is no error.
  const auto [a, b] = fixture.cross.batch_reduce(ReduceOp::kSum, straight, crossed);
  for (int id : {0, 1}) {
    EXPECT_EQ(a[id].item(), 1);
    EXPECT_EQ(b[id].item(), 12);
    EXPECT_EQ(b[id].placement(), fixture.placement(id));
  }
}

// SUM of the variable does not compile. The SUM of the values that replicas read is 4 everywhere.
TYPED_TEST_F(ReductionRows, X20_SumOfAMirroredVariable) {
  StrategyFixture& fixture = this->fixture(4);
  const auto ones = fixture.strategy.mirrored_variable([] { return TypeParam::list(Reals{1, 1}); });
  const auto sums = fixture.strategy.run([&](ReplicaContext& r) {
    return TypeParam::values(r.all_reduce(ReduceOp::kSum, ones.on(r)));
  });
  for (const Reals& sum : sums) EXPECT_EQ(sum, Reals({4, 4}));
}

TYPED_TEST_F(ReductionRows, X22_MeanOfWhatMapReturned) {
  StrategyFixture& fixture = this->fixture(2);
  const auto lists =
      fixture.cross.map(Reals{1, 6, 2}, [](float x) { return TypeParam::number(x); });
  EXPECT_EQ(lists[0].size(), 2U);
  EXPECT_EQ(TypeParam::value(fixture.cross.reduce_mapped(ReduceOp::kMean, lists).value()), 3);
  const auto joined = per_replica(
      fixture, [](int id) { return TypeParam::list(id == 0 ? Reals{1, 2} : Reals{6}); });
  EXPECT_EQ(TypeParam::value(fixture.cross.reduce(ReduceOp::kMean, joined, Axis(0)).value()), 3);
}

// A result needs an output on at least a single replica.
TYPED_TEST_F(ReductionRows, X23_MapOfNothing) {
  testing::asserts("SEM-123");
  StrategyFixture& fixture = this->fixture(2);
  const auto mapped = [&](const Reals& elements) {
    return fixture.cross.map(elements, [](float x) { return TypeParam::number(x); });
  };
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    EXPECT_EQ(code_of([&] { fixture.cross.reduce_mapped(op, mapped({})); }),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(TypeParam::value(fixture.cross.reduce_mapped(op, mapped({5})).value()), 5.0F);
  }
}

TYPED_TEST_F(ReductionRows, X24_X25_BatchesOfDifferentLength) {
  StrategyFixture& fixture = this->fixture(2);
  const auto batches = per_replica(
      fixture, [](int id) { return TypeParam::list(id == 0 ? Reals{1, 2, 3} : Reals{9}); });
  const auto reduced = [&](ReduceOp op) {
    return TypeParam::value(fixture.cross.reduce(op, batches, Axis(0)).value());
  };
  EXPECT_EQ(reduced(ReduceOp::kMean), 3.75F);
  EXPECT_EQ(reduced(ReduceOp::kSum), 15);
}

}  // namespace
}  // namespace belfry::testing::conformance_reduce
