// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about making variables. Rows about deferred initialisation (VAR-21, VAR-22) have
// no subject in belfry.
#include "belfry/checkpoint.h"
#include "belfry/current.h"
#include "belfry/detail/merge_point.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "suites/residence.h"
#include "suites/variable_fixture.h"

#include <random>
#include <type_traits>

namespace belfry::testing::conformance_variables {
namespace {

// Expects a mirrored variable with the given name and value, and a component on each device.
template <class T>
void expect_mirrored(VariableFixture& fixture, const Variable<T>& variable, const std::string& name,
                     T value) {
  EXPECT_EQ(variable.name(), name);
  EXPECT_EQ(variable.synchronization(), Synchronization::kOnWrite);
  EXPECT_EQ(variable.devices(), fixture.strategy.worker_devices());
  EXPECT_TRUE(fixture.strategy.created_in_scope(variable));
  EXPECT_EQ(fixture.components(variable), std::vector<T>(variable.devices().size(), value));
}

TEST(Conformance, VAR_01_OneVariableForAllReplicas) {
  VariableFixture fixture;
  const auto foo = fixture.strategy.run([&](ReplicaContext& replica) {
    const auto made = fixture.strategy.variable(1.0F, {.name = "foo"});
    replica.merge_call([](CrossReplicaContext&) {});
    return made;
  });
  expect_mirrored(fixture, foo, "foo", 1.0F);
  const auto tensors = fixture.strategy.run([&](ReplicaContext&) {
    return fixture.strategy.variable([] { return Tensor<float>::full({1}, 1.0F); });
  });
  const auto components = fixture.strategy.local_values(tensors);
  for (int id = 0; id < 2; ++id) {
    EXPECT_EQ(components[id].placement(), fixture.strategy.placement(id));
  }
}

// Overridden: names have no `:0`, and variables without a name are numbered.
TEST(Conformance, VAR_02_WithoutAName) {
  VariableFixture fixture;
  const auto variable =
      fixture.strategy.run([&](ReplicaContext&) { return fixture.strategy.variable(1.0F); });
  expect_mirrored(fixture, variable, "variable 0", 1.0F);
}

TEST(Conformance, VAR_03_SeveralVariables) {
  VariableFixture fixture;
  std::vector<Variable<float>> made(5);
  fixture.strategy.run([&](ReplicaContext& replica) {
    for (std::size_t i = 0; i < 5; ++i) {
      const auto one =
          fixture.strategy.variable(static_cast<float>(i), {.name = "foo" + std::to_string(i)});
      if (replica.replica_id() == 1) made[i] = one;
    }
  });
  for (std::size_t i = 0; i < 5; ++i) {
    expect_mirrored(fixture, made[i], "foo" + std::to_string(i), static_cast<float>(i));
  }
}

TEST(Conformance, VAR_05_NamesThatDifferByTheReplica) {
  VariableFixture fixture;
  const auto foo = fixture.strategy.run([&](ReplicaContext& replica) {
    return fixture.strategy.variable(1.0F, {.name = "foo_" + std::to_string(replica.replica_id())});
  });
  expect_mirrored(fixture, foo, "foo_0", 1.0F);
}

// Overridden: belfry has no name scopes; a program gives the whole name.
TEST(Conformance, VAR_06_VAR_07_KindsBesideOneAnother) {
  for (const std::string scope : {"", "main/"}) {
    VariableFixture fixture;
    const auto before = fixture.strategy.variable(1.0F, {.name = scope + "var-main0"});
    Variable<float> var0;
    Variable<float> var1;
    Variable<float> var2;
    Variable<float> var3;
    fixture.strategy.run([&](ReplicaContext& replica) {
      const auto make = [&](const char* name, Synchronization kind, Aggregation aggregation) {
        return fixture.strategy.variable(
            1.0F, {.name = scope + name, .aggregation = aggregation, .synchronization = kind});
      };
      const auto a = make("var0", Synchronization::kAuto, Aggregation::kNone);
      const auto b = make("common/var1", Synchronization::kAuto, Aggregation::kNone);
      replica.merge_call([](CrossReplicaContext&) {});
      const auto c = make("common/var2", Synchronization::kOnRead, Aggregation::kSum);
      const auto d = make("common/var3", Synchronization::kOnWrite, Aggregation::kMean);
      if (replica.replica_id() == 0) {
        var0 = a;
        var1 = b;
        var2 = c;
        var3 = d;
      }
    });
    expect_mirrored(fixture, before, scope + "var-main0", 1.0F);
    expect_mirrored(fixture, var0, scope + "var0", 1.0F);
    expect_mirrored(fixture, var1, scope + "common/var1", 1.0F);
    EXPECT_EQ(var2.name(), scope + "common/var2");
    EXPECT_EQ(var2.synchronization(), Synchronization::kOnRead);
    EXPECT_EQ(var2.aggregation(), Aggregation::kSum);
    expect_mirrored(fixture, var3, scope + "common/var3", 1.0F);
    EXPECT_EQ(var3.aggregation(), Aggregation::kMean);
  }
}

// Overridden: as above.
TEST(Conformance, VAR_08_LayersAroundAMerge) {
  VariableFixture fixture;
  std::vector<Variable<float>> made;
  fixture.strategy.run([&](ReplicaContext& replica) {
    for (const char* layer : {"common/dense", "common/dense_1", "common/dense_2"}) {
      for (const char* part : {"/kernel", "/bias"}) {
        const auto one = fixture.strategy.variable(0.0F, {.name = std::string(layer) + part});
        if (replica.replica_id() == 0) made.push_back(one);
      }
      if (std::string(layer) == "common/dense_1") replica.merge_call([](CrossReplicaContext&) {});
    }
  });
  ASSERT_EQ(made.size(), 6U);
  expect_mirrored(fixture, made[0], "common/dense/kernel", 0.0F);
  expect_mirrored(fixture, made[1], "common/dense/bias", 0.0F);
  expect_mirrored(fixture, made[2], "common/dense_1/kernel", 0.0F);
  expect_mirrored(fixture, made[3], "common/dense_1/bias", 0.0F);
  expect_mirrored(fixture, made[4], "common/dense_2/kernel", 0.0F);
  expect_mirrored(fixture, made[5], "common/dense_2/bias", 0.0F);
}

TEST(Conformance, VAR_09_SynchronizationNone) {
  VariableFixture fixture;
  std::string text;
  const auto code = error_of(
      [&] {
        fixture.strategy.run([&](ReplicaContext&) {
          fixture.strategy.variable(1.0F, {.name = "v", .synchronization = Synchronization::kNone});
        });
      },
      &text);
  EXPECT_EQ(code, ErrorCode::kInvalidArgument);
  EXPECT_NE(text.find("\"v\""), std::string::npos) << text;
}

// Expects that making `v` with the options is refused, outside replicas and in replicas, with an
// error that names the variable and `mode`.
void expect_refused(const VariableOptions& options, const std::string& mode) {
  VariableFixture fixture;
  const auto make = [&] { fixture.strategy.variable(1.0F, options); };
  for (const bool inside : {false, true}) {
    std::string text;
    const auto code = error_of(
        [&] {
          if (!inside) return make();
          fixture.strategy.run([&](ReplicaContext&) { make(); });
        },
        &text);
    EXPECT_EQ(code, ErrorCode::kInvalidArgument) << text;
    EXPECT_NE(text.find("\"v\""), std::string::npos) << text;
    EXPECT_NE(text.find(mode), std::string::npos) << text;
  }
}

// A number read from a file may stand for no enumerator.
TEST(Conformance, VAR_10_ASynchronizationThatIsNone) {
  const auto invalid = static_cast<Synchronization>(99);  // NOLINT: as is tested.
  expect_refused({.name = "v", .synchronization = invalid}, "synchronization(99)");
}

TEST(Conformance, VAR_11_AnAggregationThatIsNone) {
  const auto invalid = static_cast<Aggregation>(99);  // NOLINT: as is tested.
  for (const auto kind :
       {Synchronization::kAuto, Synchronization::kOnWrite, Synchronization::kOnRead}) {
    expect_refused({.name = "v", .aggregation = invalid, .synchronization = kind},
                   "aggregation(99)");
  }
  VariableFixture fixture;
  EXPECT_EQ(error_of([&] { fixture.strategy.replica_local_variable(invalid, 1.0F); }),
            ErrorCode::kInvalidArgument);
}

TEST(Conformance, VAR_12_OtherNamesOnOtherReplicas) {
  VariableFixture fixture(3);
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(error_of([&] {
                fixture.strategy.run([&](ReplicaContext& replica) {
                  fixture.strategy.variable(1.0F,
                                            {.name = replica.replica_id() == odd ? "foo" : "bar"});
                });
              }),
              ErrorCode::kVariableMismatch);
  });
}

// Overridden: belfry has no name scopes, and components have no names.
TEST(Conformance, VAR_13_VAR_14_MadeBeforeInsideAndInAMerge) {
  for (const std::string scope : {"main/", ""}) {
    VariableFixture fixture;
    const auto a = fixture.strategy.variable(1.0F, {.name = scope + "a"});
    const auto b = fixture.strategy.run(
        [&](ReplicaContext&) { return fixture.strategy.variable(2.0F, {.name = scope + "b"}); });
    const auto make = [&](CrossReplicaContext& cross) {
      return cross.strategy().variable(3.0F, {.name = scope + "foo/c"});
    };
    const auto c =
        fixture.strategy.run([&](ReplicaContext& replica) { return replica.merge_call(make); });
    expect_mirrored(fixture, a, scope + "a", 1.0F);
    expect_mirrored(fixture, b, scope + "b", 2.0F);
    expect_mirrored(fixture, c, scope + "foo/c", 3.0F);
  }
}

TEST(Conformance, VAR_16_OutsideAndInsideReplicas) {
  VariableFixture fixture;
  const Scope scope = fixture.strategy.scope();
  const auto foo = fixture.strategy.variable(1.0F, {.name = "foo"});
  const auto bar = fixture.strategy.run(
      [&](ReplicaContext&) { return fixture.strategy.variable(2.0F, {.name = "bar"}); });
  expect_mirrored(fixture, foo, "foo", 1.0F);
  expect_mirrored(fixture, bar, "bar", 2.0F);
}

TEST(Conformance, VAR_17_FromATensorMadeInTheReplica) {
  VariableFixture fixture;
  const auto variable = fixture.strategy.run([&](ReplicaContext&) {
    return fixture.strategy.variable([] { return Tensor<float>::zeros({2}); });
  });
  for (const Tensor<float>& component : fixture.components(variable)) {
    EXPECT_EQ(component.to_host(), Reals({0, 0}));
  }
}

TEST(Conformance, VAR_18_VAR_19_RandomFirstValuesAreEqual) {
  VariableFixture fixture;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto kind : {Synchronization::kOnWrite, Synchronization::kOnRead}) {
    const auto variable = fixture.strategy.run([&](ReplicaContext&) {
      return fixture.strategy.variable(
          [&] { return Reals{normal(random), normal(random)}; },
          {.aggregation = Aggregation::kMean, .synchronization = kind});
    });
    EXPECT_EQ(fixture.components(variable)[0], fixture.components(variable)[1]);
  }
}

// Overridden: a replica-local variable is never trainable, whatever the options say.
TEST(Conformance, VAR_20_Trainable) {
  testing::asserts("SEM-53");
  for (int replicas : {1, 2}) {
    VariableFixture fixture(replicas);
    EXPECT_TRUE(fixture.strategy.variable(1.0F).trainable());
    const auto local = [&](bool trainable) {
      return fixture.strategy.replica_local_variable(ReduceOp::kSum, 1.0F, {.trainable = trainable})
          .trainable();
    };
    EXPECT_FALSE(fixture.strategy.replica_local_variable(ReduceOp::kSum, 1.0F).trainable());
    EXPECT_FALSE(local(true));
    EXPECT_FALSE(local(false));
  }
}

TEST(Conformance, VAR_23_KnowTheirStrategy) {
  VariableFixture fixture;
  VariableFixture other;
  const auto mirrored = fixture.strategy.mirrored_variable(1.0F);
  const auto local = fixture.strategy.replica_local_variable(ReduceOp::kSum, 1.0F);
  EXPECT_TRUE(fixture.strategy.created_in_scope(mirrored));
  EXPECT_TRUE(fixture.strategy.created_in_scope(local));
  EXPECT_FALSE(other.strategy.created_in_scope(mirrored));
}

// Expects a variable with the given name and aggregation. The component with replica 0 is a tensor
// of doubles of shape [2, 3] on `device`.
template <class V>
void expect_described(Strategy& strategy, const V& variable, const std::string& name,
                      Aggregation aggregation, const DeviceSpec& device) {
  static_assert(std::is_same_v<typename V::value_type, Tensor<double>>);
  EXPECT_EQ(variable.name(), name);
  EXPECT_EQ(variable.aggregation(), aggregation);
  EXPECT_EQ(variable.devices()[0], device);
  const Tensor<double> component = *strategy.local_values(variable).begin();
  EXPECT_EQ(component.any().dtype(), DType::kFloat64);
  EXPECT_EQ(component.shape(), Shape({2, 3}));
}
const auto kTwoByThree = [] { return Tensor<double>::full({2, 3}, 1.0); };

// Overridden: the other device is a second device of the machine, since a component is in the
// process of its replica (SEM-150). A component of a replica-local variable is on the device of its
// replica (SEM-110).
TEST(Conformance, VAR_25_OnAnotherDevice) {
  const auto backend = backend_factory().make(VariableFixture::request_for(2));
  const DeviceSpec other = backend->device_spec(0);
  const DeviceSpec own = backend->device_spec(1);
  CentralStorageStrategy strategy(*backend, {.devices = {own}, .storage = other});
  const auto mean =
      strategy.mirrored_variable(kTwoByThree, {.name = "mean", .aggregation = Aggregation::kMean});
  const auto local =
      strategy.replica_local_variable(ReduceOp::kMean, kTwoByThree, {.name = "local"});
  expect_described(strategy, mean, "mean", Aggregation::kMean, other);
  expect_described(strategy, local, "local", Aggregation::kMean, own);
}

TEST(Conformance, VAR_26_NameTypeAndAggregation) {
  for (int replicas : {1, 2}) {
    VariableFixture fixture(replicas);
    const DeviceSpec first = fixture.backend->device_spec(0);
    const auto mean = fixture.strategy.mirrored_variable(
        kTwoByThree, {.name = "mean", .aggregation = Aggregation::kMean});
    const auto sum =
        fixture.strategy.replica_local_variable(ReduceOp::kSum, kTwoByThree, {.name = "sum"});
    expect_described(fixture.strategy, mean, "mean", Aggregation::kMean, first);
    expect_described(fixture.strategy, sum, "sum", Aggregation::kSum, first);
  }
}

// Overridden: a second variable with the same name is a different variable, distinguished by order.
// A file could not distinguish both, and refuses.
TEST(Conformance, VAR_27_TheSameNameTwice) {
  for (int replicas : {1, 2}) {
    VariableFixture fixture(replicas);
    const auto first = fixture.strategy.mirrored_variable(1.0F, {.name = "foo"});
    const auto second = fixture.strategy.mirrored_variable(2.0F, {.name = "foo"});
    EXPECT_FALSE(first == second);
    Checkpoint all(fixture.strategy);
    all.add(first);
    EXPECT_EQ(error_of([&] { all.add(second); }), ErrorCode::kInvalidArgument);
  }
}

template <class Where>
class VariableRows : public NumericRows<Where, VariableFixture> {};

TYPED_TEST_F(VariableRows, VAR_28_AreUsableAsValues) {
  for (int replicas : {1, 2}) {
    VariableFixture& fixture = this->fixture(replicas);
    for (auto kind : {Synchronization::kOnWrite, Synchronization::kOnRead}) {
      for (auto aggregation : {Aggregation::kMean, Aggregation::kSum, Aggregation::kOnlyFirst}) {
        const auto variable =
            fixture.strategy.variable([] { return TypeParam::number(2.0F); },
                                      {.aggregation = aggregation, .synchronization = kind});
        const bool adds = kind == Synchronization::kOnRead && aggregation == Aggregation::kSum;
        const float whole = adds ? 2.0F * static_cast<float>(replicas) : 2.0F;
        EXPECT_EQ(TypeParam::value(fixture.strategy.read(variable) + 1.0F), whole + 1);
        for (float one : fixture.run([&](ReplicaContext& replica, int) {
               return TypeParam::value(variable.on(replica) + 1.0F);
             })) {
          EXPECT_EQ(one, 3.0F);
        }
      }
    }
  }
}

// Makes a variable of ones as a copy of a mirrored variable, and changes the new variable.
template <class Where>
void expect_copies(VariableFixture& fixture, Aggregation aggregation) {
  const auto original = fixture.strategy.mirrored_variable([] { return Where::number(1.0F); },
                                                           {.aggregation = aggregation});
  const auto same = original;  // NOLINT(performance-unnecessary-copy-*)
  EXPECT_TRUE(same == original);
  const auto own = fixture.strategy.mirrored_variable(fixture.strategy.read(original),
                                                      {.aggregation = original.aggregation()});
  static_assert(std::is_same_v<decltype(own), decltype(original)>);
  EXPECT_FALSE(own == original);
  EXPECT_EQ(own.aggregation(), aggregation);
  EXPECT_TRUE(fixture.strategy.created_in_scope(own));
  EXPECT_EQ(own.devices(), fixture.strategy.worker_devices());
  const auto values = [&](const auto& variable) {
    Reals list;
    for (const auto& one : fixture.components(variable)) list.push_back(Where::value(one));
    return list;
  };
  const std::size_t size = own.devices().size();
  EXPECT_EQ(values(own), Reals(size, 1));
  fixture.cross.update(own, [](auto& component) { component = component + 4.0F; });
  EXPECT_EQ(values(own), Reals(size, 5));
  EXPECT_EQ(values(original), Reals(size, 1));
}

// Overridden: copies of a handle are the same variable. A separate copy is made from the value.
TYPED_TEST_F(VariableRows, VAR_29_Copies) {
  for (int replicas : {1, 2}) {
    VariableFixture& fixture = this->fixture(replicas);
    for (const Aggregation aggregation : all_aggregations()) {
      expect_copies<TypeParam>(fixture, aggregation);
      const Scope scope = fixture.strategy.scope();
      expect_copies<TypeParam>(fixture, aggregation);
    }
  }
}

TEST(Conformance, VAR_30_FromAnotherVariable) {
  VariableFixture fixture;
  const auto seen = fixture.run([&](ReplicaContext& replica, int) {
    const auto w = fixture.strategy.mirrored_variable(0.0F, {.aggregation = Aggregation::kMean});
    const float first = w.on(replica);
    const auto v = fixture.strategy.mirrored_variable(first, {.aggregation = Aggregation::kMean});
    replica.assign_add(v, 2.0F);
    return v.on(replica);
  });
  EXPECT_EQ(seen, Reals({2, 2}));
}

TEST(Conformance, VAR_31_VAR_32_VAR_33_CanonicalNames) {
  EXPECT_EQ(detail::canonical_name(""), "Variable");
  EXPECT_EQ(detail::canonical_name("foo_1/bar_1/baz"), "foo/bar/baz");
  EXPECT_EQ(detail::canonical_name("foo_1"), "foo");
}

TEST(Conformance, VAR_35_OthersFindReplicaZeros) {
  VariableFixture fixture(3);
  std::vector<Variable<float>> made(3);
  fixture.strategy.run([&](ReplicaContext& replica) {
    made[static_cast<std::size_t>(replica.replica_id())] =
        fixture.strategy.variable(1.0F, {.name = "foo"});
  });
  EXPECT_TRUE(made[1] == made[0]);
  EXPECT_TRUE(made[2] == made[0]);
}

using Names = std::vector<std::string>;

// Makes the variables of an optimiser for two weights: `shared`, and `slots` for each weight.
std::vector<Variable<float>> make_optimiser(Strategy& strategy, const Names& shared,
                                            const Names& slots) {
  std::vector<Variable<float>> made;
  const Names weights = {"dense/kernel", "dense/bias"};
  for (const std::string& name : weights) made.push_back(strategy.variable(1.0F, {.name = name}));
  for (const std::string& name : shared) made.push_back(strategy.variable(1.0F, {.name = name}));
  for (const std::string& weight : weights) {
    const std::string folder = weight + "/";
    for (const std::string& slot : slots) {
      made.push_back(strategy.variable(1.0F, {.name = folder + slot}));
    }
  }
  return made;
}

// Overridden: an optimiser belongs to the user and names its variables. Components have no names.
TEST(Conformance, VAR_36_VariablesOfAnOptimiserMadeInReplicas) {
  struct Optimiser {
    Names shared;
    Names slots;
    Names expected;
  };
  const std::vector<Optimiser> optimisers = {
      {{}, {}, {"dense/kernel", "dense/bias"}},
      {{"beta1_power", "beta2_power"},
       {"Adam", "Adam_1"},
       {"dense/kernel", "dense/bias", "beta1_power", "beta2_power", "dense/kernel/Adam",
        "dense/kernel/Adam_1", "dense/bias/Adam", "dense/bias/Adam_1"}},
      {{},
       {"Adagrad"},
       {"dense/kernel", "dense/bias", "dense/kernel/Adagrad", "dense/bias/Adagrad"}}};
  for (int replicas : {1, 2}) {
    for (const Optimiser& optimiser : optimisers) {
      VariableFixture fixture(replicas);
      std::vector<Names> names(static_cast<std::size_t>(replicas));
      const VariableScope scope =
          fixture.strategy.variable_creator_scope([&](const VariableOptions& options) {
            names[static_cast<std::size_t>(current_replica()->replica_id())].push_back(
                options.name);
          });
      const auto made = fixture.run([&](ReplicaContext&, int) {
        return make_optimiser(fixture.strategy, optimiser.shared, optimiser.slots);
      });
      for (const Names& own : names) EXPECT_EQ(own, optimiser.expected);
      for (std::size_t i = 0; i < optimiser.expected.size(); ++i) {
        expect_mirrored(fixture, made[0][i], optimiser.expected[i], 1.0F);
        for (const auto& own : made) EXPECT_TRUE(own[i] == made[0][i]);
      }
    }
  }
}

TYPED_TEST_F(VariableRows, VAR_37_AnotherShapeIsAMismatch) {
  VariableFixture& fixture = this->fixture(3);
  const int none = 3;
  const auto sums = [&](int odd) {
    return fixture.run([&](ReplicaContext& replica, int id) {
      const auto v = fixture.strategy.variable(TypeParam::list(Reals(id == odd ? 3 : 2, 1)));
      return TypeParam::values(replica.all_reduce(ReduceOp::kSum, v.on(replica)));
    });
  };
  at_each_place(
      3, [&](int odd) { EXPECT_EQ(error_of([&] { sums(odd); }), ErrorCode::kVariableMismatch); });
  EXPECT_EQ(sums(none), std::vector<Reals>(3, Reals{3, 3}));
}

TEST(Conformance, VAR_38_OneVariableMoreIsAMismatchAtTheNextMerge) {
  testing::asserts("SEM-48");
  VariableFixture fixture(3);
  int merges = 0;
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(error_of([&] {
                fixture.strategy.run([&](ReplicaContext& replica) {
                  fixture.strategy.variable(1.0F, {.name = "a"});
                  if (replica.replica_id() == odd) fixture.strategy.variable(1.0F, {.name = "b"});
                  replica.merge_call([&](CrossReplicaContext&) { ++merges; });
                });
              }),
              ErrorCode::kVariableMismatch);
  });
  EXPECT_EQ(merges, 0);
}

TEST(Conformance, VAR_39_AnotherOrderOfNames) {
  VariableFixture fixture;
  const auto seen = fixture.run([&](ReplicaContext& replica, int id) {
    const auto make = [&](bool a) {
      return a ? fixture.strategy.variable(1.0F, {.name = "a"})
               : fixture.strategy.variable(2.0F, {.name = "b"});
    };
    const auto first = make(id == 0);
    const auto second = make(id != 0);
    return std::pair(first.on(replica), second.on(replica));
  });
  EXPECT_EQ(seen[0], std::pair(1.0F, 2.0F));
  EXPECT_EQ(seen[1], std::pair(2.0F, 1.0F));
}

}  // namespace
}  // namespace belfry::testing::conformance_variables
