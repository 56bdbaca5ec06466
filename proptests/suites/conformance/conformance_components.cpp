// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about components of results and values: assembly of nests, stand-ins for
// components, and values made for each replica. The name of a test begins with its rows.
//
// Not covered, because C++ has no proxies of objects: RG-13.
#include "belfry/tensor_ops.h"
#include "suites/strategy_fixture.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace belfry::testing::conformance_components {
namespace {

using Ints = std::vector<int>;
using Reals = std::vector<double>;

using Nested =
    std::tuple<std::string, std::vector<std::string>, std::map<std::string, std::string>>;

Nested nested(int id) {
  const std::string k = std::to_string(id + 1);
  return {"a" + k, {"b" + k, "g" + k}, {{"c", "d" + k}, {"e", "f" + k}}};
}

// Overridden (RG-01): results are not taken apart: a PerReplica of nests, not a nest of
// PerReplicas.
TEST(Conformance, RG_01_RG_02_ComponentsAreTheOriginalNests) {
  StrategyFixture fixture(2);
  const auto all = fixture.strategy.run([](ReplicaContext& r) { return nested(r.replica_id()); });
  for (int id : {0, 1}) EXPECT_EQ(all[id], nested(id));
}

// Overridden: a Mirrored of a nest, not a nest of Mirrored values.
TEST(Conformance, RG_04_MirroredNestsGiveTheSameToAll) {
  StrategyFixture fixture(2);
  const auto all = fixture.cross.broadcast(nested(0));
  EXPECT_EQ(list_of(fixture.strategy.run([](ReplicaContext&, const Nested& x) { return x; }, all)),
            std::vector<Nested>({nested(0), nested(0)}));
}

// Overridden: results are not taken apart: a PerReplica of pairs, not a pair of PerReplicas.
TEST(Conformance, RG_05_ListsOfPairs) {
  StrategyFixture fixture(2);
  using Pair = std::pair<std::string, std::string>;
  const auto pairs = fixture.strategy.run(
      [](ReplicaContext& r) { return r.replica_id() == 0 ? Pair("1", "2") : Pair("3", "4"); });
  EXPECT_EQ(list_of(pairs), (std::vector<Pair>{{"1", "2"}, {"3", "4"}}));
}

// Overridden: as above.
TEST(Conformance, RG_07_OneObjectStaysOneObject) {
  StrategyFixture fixture(2);
  const auto object = std::make_shared<int>(5);
  const auto got = fixture.strategy.run([&](ReplicaContext& r) {
    return std::pair{std::string(r.replica_id() == 0 ? "a" : "b"), object};
  });
  EXPECT_EQ(got[0], (std::pair{std::string("a"), object}));
  EXPECT_EQ(got[1], (std::pair{std::string("b"), object}));
}

TEST(Conformance, RG_09_AVariableOfOneReplicaIsThatVariable) {
  StrategyFixture fixture(1);
  auto variable = fixture.strategy.mirrored_variable(1);
  const auto returned = fixture.strategy.run([&](ReplicaContext&) { return variable; });
  EXPECT_EQ(returned, variable);
}

struct Record {
  std::string mode;
  double loss = 0;
  int train_op = 0;
  std::shared_ptr<int> scaffold;
  bool operator==(const Record&) const = default;
};

// Overridden: results are not taken apart: a PerReplica of records, also where a field is equal.
TEST(Conformance, RG_10_Records) {
  StrategyFixture fixture(3);
  const std::vector<std::shared_ptr<int>> scaffolds = {
      std::make_shared<int>(0), std::make_shared<int>(1), std::make_shared<int>(2)};
  const auto record = [&](int id) {
    return Record{"train", id / 2.0, id, scaffolds[static_cast<std::size_t>(id)]};
  };
  const auto all = fixture.strategy.run([&](ReplicaContext& r) { return record(r.replica_id()); });
  for (int id : {0, 1, 2}) EXPECT_EQ(all[id], record(id));
  EXPECT_EQ(all[1].loss, 0.5);
}

// A class derived from a mapping of the library, and a class that only behaves like a mapping.
struct DictBased : std::map<std::string, std::string> {
  using map::map;
};
class Mapping {
 public:
  Mapping(std::string a, std::string b) : values_{std::move(a), std::move(b)} {}
  const std::string& at(const std::string& key) const { return values_.at(key == "a" ? 0 : 1); }

 private:
  std::vector<std::string> values_;
};
static_assert(Nest<std::map<std::string, int>>);
static_assert(!Nest<DictBased> && !Nest<Mapping>);

// Overridden: such classes are no nests, and are passed as a whole.
TEST(Conformance, RG_11_RG_12_ClassesThatImitateMappings) {
  StrategyFixture fixture(2);
  const auto expect_whole = [&](const auto& make) {
    const auto all = fixture.strategy.run([&](ReplicaContext& r) {
      const std::string k = std::to_string(r.replica_id() + 1);
      return make("a" + k, "b" + k);
    });
    static_assert(
        std::is_same_v<typename std::decay_t<decltype(all)>::value_type, decltype(make("", ""))>);
    const auto seen = fixture.strategy.run(
        [](ReplicaContext&, const auto& own) { return own.at("a") + own.at("b"); }, all);
    EXPECT_EQ(list_of(seen), std::vector<std::string>({"a1b1", "a2b2"}));
  };
  expect_whole(
      [](const std::string& a, const std::string& b) { return DictBased{{"a", a}, {"b", b}}; });
  expect_whole([](const std::string& a, const std::string& b) { return Mapping(a, b); });
}

TEST(Conformance, RG_14_ComponentsByReplica) {
  // Overridden: a component is found by its replica, not by a device string.
  const PerReplica<int> value{1, 2};
  EXPECT_EQ(value[1], 2);
  EXPECT_THROW(value[2], InvalidArgumentError);
}

// Overridden: the type says whether components are tensors; a variant of types is no nest.
TEST(Conformance, RG_15_WhetherComponentsAreTensors) {
  using Mixed = std::variant<Tensor<float>, float>;
  static_assert(Nest<Tensor<float>> && Nest<float> && !Nest<Mixed>);
  StrategyFixture fixture(2);
  const auto mixed = fixture.strategy.run([](ReplicaContext& r) {
    return r.replica_id() == 0 ? Mixed(Tensor<float>::full({1}, 2)) : Mixed(2.0F);
  });
  EXPECT_TRUE(std::holds_alternative<Tensor<float>>(mixed[0]));
  EXPECT_FALSE(std::holds_alternative<Tensor<float>>(mixed[1]));
}

struct Foo {
  int x = 0;
};
template <class T>
concept HasX = requires(const T& value) { value.x; };
template <class T>
concept HasY = requires(const T& value) { value.y; };
template <class T>
concept HasElements = requires(const T& value) { value[2]; };

// Overridden: a distributed value does not stand for its component. The program asks for the
// component.
TEST(Conformance, RG_16_Members) {
  static_assert(HasX<Foo> && !HasY<Foo> && !HasX<PerReplica<Foo>>);
  StrategyFixture fixture(2);
  const PerReplica<Foo> foos{Foo{7}, Foo{8}};
  EXPECT_EQ(foos[0].x, 7);
  EXPECT_EQ(
      list_of(fixture.strategy.run([](ReplicaContext&, const Foo& foo) { return foo.x; }, foos)),
      Ints({7, 8}));
}

// The result of `fn` for the component 7: in a PerReplica, in a replica's argument, and in a
// variable on its replica.
template <class F>
auto of_seven(const F& fn) {
  StrategyFixture fixture(2);
  const PerReplica<int> value{7, 8};
  auto expected = fn(value[0]);
  const auto given = fixture.strategy.run([&](ReplicaContext&, int own) { return fn(own); }, value);
  EXPECT_EQ(given[0], expected);
  const auto variable = fixture.strategy.replica_local_variable(ReduceOp::kSum, 7);
  const auto read = fixture.strategy.run([&](ReplicaContext& r) {
    variable.on(r) += r.replica_id();
    return fn(variable.on(r));
  });
  EXPECT_EQ(read[0], expected);
  EXPECT_EQ(read[1], fn(8));
  return expected;
}

// Overridden: as above.
TEST(Conformance, RG_17_Arithmetic) {
  const auto whole = [](int v) {
    return Ints{v + 1, 3 + v, v + v, v - 2,  13 - v, v - v, v * 2,
                3 * v, v * v, v / 2, 15 / v, v % 2,  16 % v};
  };
  EXPECT_EQ(of_seven(whole), Ints({8, 10, 14, 5, 6, 0, 14, 21, 49, 3, 2, 1, 2}));
  const auto divided = [](int v) { return Reals{v / 2.0, 10.5 / v}; };
  EXPECT_EQ(of_seven(divided), Reals({3.5, 1.5}));
}

// Overridden: as above.
TEST(Conformance, RG_17_ArithmeticOfTensors) {
  StrategyFixture fixture(2);
  const auto variable =
      fixture.strategy.mirrored_variable([] { return Tensor<double>::full({1}, 7); });
  const auto seen = fixture.strategy.run([&](ReplicaContext& r) {
    const Tensor<double>& v = variable.on(r);
    Reals results;
    for (const auto& one : {v + 1.0, 3.0 + v, v + v, v - 2.0, 13.0 - v, v - v, v * 2.0, 3.0 * v,
                            v * v, v / 2.0, 10.5 / v}) {
      EXPECT_EQ(one.placement(), r.placement());
      results.push_back(one.item());
    }
    return results;
  });
  for (const Reals& own : seen) {
    EXPECT_EQ(own, Reals({8, 10, 14, 5, 6, 0, 14, 21, 49, 3.5, 1.5}));
  }
}

// Overridden: as above.
TEST(Conformance, RG_18_Comparisons) {
  const auto compared = [](int v) {
    return Ints{v<12, v <= 12, 12> v, 12 >= v, v > 12, v >= 12, 12 < v, 12 <= v};
  };
  EXPECT_EQ(of_seven(compared), Ints({1, 1, 1, 1, 0, 0, 0, 0}));
}

// Overridden: as above.
TEST(Conformance, RG_19_BitsPowersAndSigns) {
  const auto bits = [](int v) {
    return Ints{v & 3, 11 & v, v | 8, 16 | v, v ^ 3, 11 ^ v, -v, ~v, std::abs(v)};
  };
  EXPECT_EQ(of_seven(bits), Ints({3, 3, 15, 23, 4, 12, -7, -8, 7}));
  const auto powers = [](int v) { return Reals{std::pow(v, 3), std::pow(2, v)}; };
  EXPECT_EQ(of_seven(powers), Reals({343, 128}));
  EXPECT_EQ(of_seven([](int v) { return v * v * v % 10; }), 3);
  static_assert(HasElements<Ints> && !HasElements<int>);
}

TEST(Conformance, DVF_01_OneNumber) {
  for (int n = 1; n <= 4; ++n) {
    StrategyFixture fixture(n);
    EXPECT_EQ(list_of(per_replica(fixture, [](int) { return 1; })),
              Ints(static_cast<std::size_t>(n), 1));
  }
}

TEST(Conformance, DVF_02_OneList) {
  for (int n = 1; n <= 4; ++n) {
    StrategyFixture fixture(n);
    for (const Ints& list : per_replica(fixture, [](int) { return Ints{1, 2, 3}; })) {
      EXPECT_EQ(list, Ints({1, 2, 3}));
    }
  }
}

// Overridden: a PerReplica of tuples, not a tuple of PerReplicas.
TEST(Conformance, DVF_03_OneTuple) {
  const std::tuple tuple{1.0, 2.0, 3.0};
  for (int n = 1; n <= 4; ++n) {
    StrategyFixture fixture(n);
    const auto all = per_replica(fixture, [&](int) { return tuple; });
    EXPECT_EQ(list_of(all), std::vector(static_cast<std::size_t>(n), tuple));
  }
}

// Overridden: a PerReplica of tuples, not a tuple of PerReplicas.
TEST(Conformance, DVF_04_TuplesThatDiffer) {
  StrategyFixture fixture(2);
  const auto got = per_replica(fixture, [](int i) { return std::tuple{i, 2 * i, 3 * i}; });
  EXPECT_EQ(got[0], (std::tuple{0, 0, 0}));
  EXPECT_EQ(got[1], (std::tuple{1, 2, 3}));
}

TEST(Conformance, DVF_05_ElementsOfAnArray) {
  const std::vector<Ints> ranges = {{}, {0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}};
  for (std::size_t n = 1; n <= 4; ++n) {
    StrategyFixture fixture(static_cast<int>(n));
    EXPECT_EQ(list_of(per_replica(fixture, [](int i) { return Ints{0, 1, 2, 3}.at(i); })),
              ranges[n]);
  }
}

TEST(Conformance, DVF_06_RunOnThem) {
  const std::vector<Ints> squares = {{}, {0}, {0, 1}, {0, 1, 4}, {0, 1, 4, 9}};
  for (std::size_t n = 1; n <= 4; ++n) {
    StrategyFixture fixture(static_cast<int>(n));
    const auto values = per_replica(fixture, [](int i) { return i; });
    EXPECT_EQ(list_of(fixture.strategy.run([](ReplicaContext&, int x) { return x * x; }, values)),
              squares[n]);
  }
}

TEST(Conformance, DVF_07_TensorsWithoutAPlacement) {
  StrategyFixture fixture(2);
  const auto values = per_replica(fixture, [](int) { return Tensor<float>::full({1}, 1); });
  // Overridden: the values are made on the devices of their replicas.
  for (int i : {0, 1}) EXPECT_EQ(values[i].placement(), fixture.placement(i));
}

TEST(Conformance, DVF_08_TensorsWithAPlacement) {
  StrategyFixture fixture(2);
  const auto values = per_replica(
      fixture, [&](int i) { return Tensor<float>::full({1}, 1, fixture.placement(i)); });
  for (int i : {0, 1}) EXPECT_EQ(values[i].placement(), fixture.placement(i));
}

TEST(Conformance, DVF_09_ElementsOfAnArrayOfReals) {
  StrategyFixture fixture(2);
  EXPECT_EQ(list_of(per_replica(fixture, [](int i) { return Reals{3, 2, 1}.at(i); })),
            Reals({3, 2}));
}

}  // namespace
}  // namespace belfry::testing::conformance_components
