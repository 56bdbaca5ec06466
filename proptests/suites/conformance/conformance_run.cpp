// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about run, its arguments and its results. The name of a test begins with its
// rows. If belfry decides otherwise, the test has belfry's outcome, and a comment gives the reason.
//
// Not covered, because belfry has none of these: ambient execution modes (RUN-18) and names of
// operations (RUN-20). Rows about the form of results are in conformance_components.cpp.
#include "belfry/current.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "suites/residence.h"
#include "suites/strategy_fixture.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::conformance_run {
namespace {

using Numbers = std::map<std::string, double>;
using Ints = std::vector<int>;
using Reals = std::vector<double>;
using Pair = std::pair<float, float>;

struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The named results of RUN-05 and RUN-06.
struct Named {
  double a = 0;
  double b = 0;
  static auto members(auto& self) { return std::tie(self.a, self.b); }
  bool operator==(const Named&) const = default;
};

// Named arguments: some differ between replicas, some do not.
struct Given {
  PerReplica<Named> x;
  double two = 0;
  static auto members(auto& self) { return std::tie(self.x, self.two); }
};

PerReplica<Named> second_run(StrategyFixture& fixture, const PerReplica<double>& first) {
  return fixture.strategy.run(
      [](ReplicaContext&, double x) { return Named{.a = 2 * x, .b = x * x}; }, first);
}
PerReplica<double> third_run(StrategyFixture& fixture, const PerReplica<Named>& second) {
  return fixture.strategy.run([](ReplicaContext&, const Named& x) { return x.a + 2 * x.b + 2; },
                              second);
}

TEST(Conformance, RUN_01_EveryReplicaHasItsId) {
  testing::asserts("SEM-1");
  for (int n : {1, 2, 3}) {
    StrategyFixture fixture(n);
    Ints marks(static_cast<std::size_t>(n));
    fixture.strategy.run(
        [&](ReplicaContext& replica) { ++marks[static_cast<std::size_t>(replica.replica_id())]; });
    EXPECT_EQ(marks, Ints(static_cast<std::size_t>(n), 1));
  }
}

TEST(Conformance, RUN_02_NumberOfReplicas) {
  StrategyFixture fixture(2);
  EXPECT_EQ(fixture.strategy.num_replicas(), 2);
  EXPECT_EQ(list_of(fixture.strategy.run([](ReplicaContext& r) { return r.num_replicas(); })),
            Ints({2, 2}));
}

TEST(Conformance, RUN_03_IdPlusOne) {
  StrategyFixture fixture(2);
  EXPECT_EQ(list_of(fixture.strategy.run([](ReplicaContext& r) { return r.replica_id() + 1; })),
            Ints({1, 2}));
}

// Overridden: results are not taken apart: a PerReplica of nests, not a nest of PerReplicas.
TEST(Conformance, RUN_04_ResultsAreArgumentsOfTheNextRun) {
  StrategyFixture fixture(2);
  const auto out1 = per_replica(fixture, [](int id) { return id + 1.0; });
  const auto out2 = fixture.strategy.run(
      [](ReplicaContext&, double x) { return Numbers{{"a", 2 * x}, {"b", x * x}}; }, out1);
  EXPECT_EQ(out2[0], (Numbers{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(out2[1], (Numbers{{"a", 4}, {"b", 4}}));
}

TEST(Conformance, RUN_05_NamedArguments) {
  StrategyFixture fixture(2);
  const auto out1 = per_replica(fixture, [](int id) { return id + 1.0; });
  const auto out2 = second_run(fixture, out1);
  EXPECT_EQ(list_of(third_run(fixture, out2)), Reals({6, 14}));
  const auto out3 = fixture.strategy.run(
      [](ReplicaContext& r, const Given& given) {
        const Named& own = given.x[r.replica_id()];
        return own.a + given.two * own.b + given.two;
      },
      Given{.x = out2, .two = 2});
  EXPECT_EQ(list_of(out3), Reals({6, 14}));
}

TEST(Conformance, RUN_06_OneReplica) {
  StrategyFixture fixture(1);
  const auto out1 = fixture.strategy.run([](ReplicaContext&, double x) { return x; }, 4.0);
  EXPECT_EQ(list_of(out1), Reals({4}));
  const auto out2 = second_run(fixture, out1);
  EXPECT_EQ(list_of(out2), (std::vector<Named>{{.a = 8, .b = 16}}));
  EXPECT_EQ(list_of(third_run(fixture, out2)), Reals({42}));
}

TEST(Conformance, RUN_07_ListsOfDifferentLengthDoNotReduce) {
  StrategyFixture fixture(2);
  // Overridden: run does not take results apart. Only verbs that combine results require equal
  // lengths.
  const auto lists = fixture.strategy.run(
      [](ReplicaContext& r) { return Ints(static_cast<std::size_t>(r.replica_id()), 1); });
  EXPECT_EQ(lists[1].size(), 1U);
  EXPECT_THROW(fixture.cross.reduce(ReduceOp::kSum, lists), StructureMismatchError);
}

TEST(Conformance, RUN_08_ExceptionOfAReplicaFunction) {
  for (int n : {1, 2}) {
    StrategyFixture fixture(n);
    EXPECT_THROW(fixture.strategy.run([](ReplicaContext&) { throw Boom("fn"); }), Boom);
  }
}

TEST(Conformance, RUN_09_ExceptionOfAMergeFunction) {
  for (int n : {1, 2}) {
    StrategyFixture fixture(n);
    const auto merge = [](CrossReplicaContext&) { throw Boom("merge"); };
    EXPECT_THROW(fixture.strategy.run([&](ReplicaContext& r) { r.merge_call(merge); }), Boom);
  }
}

TEST(Conformance, RUN_10_ExceptionOfARunInsideAMerge) {
  for (int n : {1, 2}) {
    StrategyFixture fixture(n);
    const auto merge = [](CrossReplicaContext& cross) {
      cross.run([](ReplicaContext&) { throw Boom("inner"); });
    };
    EXPECT_THROW(fixture.strategy.run([&](ReplicaContext& r) { r.merge_call(merge); }), Boom);
  }
}

TEST(Conformance, RUN_11_ExceptionOfAMergeInsideARunInsideAMerge) {
  for (int n : {1, 2}) {
    StrategyFixture fixture(n);
    const auto inner = [](CrossReplicaContext&) { throw Boom("inner"); };
    const auto merge = [&](CrossReplicaContext& cross) {
      cross.run([&](ReplicaContext& r) { r.merge_call(inner); });
    };
    EXPECT_THROW(fixture.strategy.run([&](ReplicaContext& r) { r.merge_call(merge); }), Boom);
  }
}

TEST(Conformance, RUN_12_TheFunctionRunsOnceForEachReplica) {
  testing::asserts("SEM-1");
  StrategyFixture fixture(2);
  std::atomic<int> calls{0};
  const auto ids = fixture.strategy.run({.concurrent = false}, [&](ReplicaContext& r) {
    ++calls;
    return r.replica_id();
  });
  EXPECT_EQ(list_of(ids), Ints({0, 1}));
  EXPECT_EQ(calls.load(), 2);
}

TEST(Conformance, RUN_13_AMergeThatReturnsNothing) {
  StrategyFixture fixture(2);
  const auto zeros = fixture.strategy.run([](ReplicaContext& r) {
    r.merge_call([](CrossReplicaContext&) {});
    return 0.0;
  });
  // Overridden: equal results are not merged into a single value. A result is always a PerReplica.
  EXPECT_EQ(list_of(zeros), Reals({0, 0}));
}

TEST(Conformance, RUN_14_MergeFromAnotherThread) {
  StrategyFixture fixture(2);
  const auto fn = [](ReplicaContext& r) {
    ErrorCode code = ErrorCode::kInternal;
    std::thread([&] { code = code_of([&] { r.merge_call([](CrossReplicaContext&) {}); }); }).join();
    return code;
  };
  EXPECT_EQ(list_of(fixture.strategy.run(fn)), std::vector<ErrorCode>(2, ErrorCode::kMergeNested));
}

TEST(Conformance, RUN_15_MergeFromAFunctionCalledDeepInside) {
  // Overridden: how deep the call is makes no difference, since nothing is recorded.
  StrategyFixture fixture(2);
  const auto deep = [](const auto& self, ReplicaContext& r, int depth) -> int {
    return depth == 0 ? r.all_reduce(ReduceOp::kSum, 1) : self(self, r, depth - 1);
  };
  EXPECT_EQ(list_of(fixture.strategy.run([&](ReplicaContext& r) { return deep(deep, r, 9); })),
            Ints({2, 2}));
}

TEST(Conformance, RUN_16_AVariableMadeInAReplicaIsThatVariable) {
  StrategyFixture fixture(3);
  const Variable<double> variable = fixture.strategy.run([&](ReplicaContext& r) {
    auto made = fixture.strategy.variable(1.0, {.name = "foo"});
    r.merge_call([](CrossReplicaContext&) {});
    return made;
  });
  EXPECT_EQ(variable.name(), "foo");
  EXPECT_EQ(variable.synchronization(), Synchronization::kOnWrite);
  EXPECT_EQ(variable.as_mirrored(), variable);
  EXPECT_EQ(variable.devices(), fixture.strategy.worker_devices());
  EXPECT_EQ(list_of(fixture.strategy.local_values(variable)), Reals({1, 1, 1}));
}

TEST(Conformance, RUN_17_CreatorsOfAReplicaAreItsOwn) {
  StrategyFixture fixture(2);
  std::vector<std::string> names(2);
  const VariableScope outer =
      fixture.strategy.variable_creator_scope([&](VariableOptions& options) {
        options.name = "main_thread" + options.name;
        names[static_cast<std::size_t>(current_replica()->replica_id())] = options.name;
      });
  fixture.strategy.run([&](ReplicaContext& r) {
    const std::string own = ":thread_" + std::to_string(r.replica_id());
    const VariableScope inner = fixture.strategy.variable_creator_scope(
        [own](VariableOptions& options) { options.name = own; });
    r.merge_call([](CrossReplicaContext&) {});
    fixture.strategy.variable(1.0);
  });
  EXPECT_EQ(names, (std::vector<std::string>{"main_thread:thread_0", "main_thread:thread_1"}));
}

TEST(Conformance, RUN_21_SumOfThreePlusId) {
  const std::map<int, Ints> expected = {
      {1, {6}}, {2, {10, 11}}, {3, {15, 16, 17}}, {4, {21, 22, 23, 24}}};
  for (const auto& [n, results] : expected) {
    StrategyFixture fixture(n);
    const auto merged = fixture.strategy.run(
        [](ReplicaContext& r, int three) {
          const int v = three + r.replica_id();
          const int s = r.merge_call(
              [](CrossReplicaContext& cross, const PerReplica<int>& values) {
                int sum = 0;
                for (int x : cross.local_results(values)) sum += x;
                return sum;
              },
              v);
          return s + v;
        },
        3);
    EXPECT_EQ(fixture.strategy.local_results(merged), results);
  }
}

TEST(Conformance, RUN_23_EqualResultsStayPerReplica) {
  StrategyFixture fixture(2);
  const auto twos = per_replica(fixture, [](int) { return 2; });
  // Overridden: a value for each replica, even if all are equal.
  EXPECT_EQ(list_of(fixture.strategy.run([](ReplicaContext&, int x) { return 2 * x; }, twos)),
            Ints({4, 4}));
}

TEST(Conformance, RUN_24_AllReduceByName) {
  StrategyFixture fixture(2);
  const auto sums = fixture.strategy.run(
      [](ReplicaContext& r) { return r.all_reduce(parse_reduce_op("sum"), r.replica_id()); });
  EXPECT_EQ(list_of(sums), Ints({1, 1}));
}

template <class Where>
class RunRows : public NumericRows<Where, StrategyFixture> {
 protected:
  using Number = decltype(Where::number(0.0));

  static MirroredVariable<Number> mirrored(StrategyFixture& fixture, double first) {
    return fixture.strategy.mirrored_variable([first] { return Where::number(first); });
  }
};

TYPED_TEST_F(RunRows, RUN_25_PerReplicaArguments) {
  StrategyFixture& fixture = this->fixture();
  const auto v = this->mirrored(fixture, 1.25);
  const auto factor =
      per_replica(fixture, [](int id) { return TypeParam::number(id == 0 ? 5.0 : 3.0); });
  const auto products = fixture.strategy.run(
      [&](ReplicaContext& r, const auto& f) { return TypeParam::value(f * v.on(r)); }, factor);
  EXPECT_EQ(list_of(products), Reals({6.25, 3.75}));
}

TYPED_TEST_F(RunRows, RUN_26_AVariableInAReplica) {
  StrategyFixture& fixture = this->fixture();
  const auto v = this->mirrored(fixture, 1.25);
  const auto doubled =
      fixture.strategy.run([&](ReplicaContext& r) { return TypeParam::value(2.0 * v.on(r)); });
  EXPECT_EQ(list_of(doubled), Reals({2.5, 2.5}));
}

TYPED_TEST_F(RunRows, RUN_28_TwoVariablesInAReplica) {
  StrategyFixture& fixture = this->fixture();
  const auto v = this->mirrored(fixture, 1.25);
  const auto w = this->mirrored(fixture, 2);
  const auto sums = fixture.strategy.run(
      [&](ReplicaContext& r) { return TypeParam::value(2.0 * v.on(r) + w.on(r) + 1.0); });
  EXPECT_EQ(list_of(sums), Reals({5.5, 5.5}));
}

// RUN-29 and RUN-30: a function of two tensors, with its gradient.
struct Differentiable {
  using Row = Tensor<float>;
  Row (*value)(const Row& v, const Row& w);
  /// The derivatives by v and by w, times `worth`.
  std::pair<Row, Row> (*gradient)(const Row& worth);
};
const Differentiable kTwoVariables{
    [](const Tensor<float>& v, const Tensor<float>& w) { return 2.0F * v + w + 1.0F; },
    [](const Tensor<float>& worth) { return std::pair{worth * 2.0F, worth}; }};
// x * w + b - 1 with x = 1.
const Differentiable kLine{
    [](const Tensor<float>& w, const Tensor<float>& b) { return 1.0F * w + b - 1.0F; },
    [](const Tensor<float>& worth) { return std::pair{worth * 1.0F, worth * 1.0F}; }};

// Expects on every replica that the gradient is `wanted`, equals finite differences of v and w, and
// is computed on the replica's device.
void expect_gradient(const Differentiable& f, float v0, float w0, const Pair& wanted) {
  StrategyFixture fixture(2);
  const auto of = [](float first) { return [first] { return Tensor<float>::full({1}, first); }; };
  const auto v = fixture.strategy.mirrored_variable(of(v0));
  const auto w = fixture.strategy.mirrored_variable(of(w0));
  const auto seen = fixture.strategy.run([&](ReplicaContext& r) {
    const auto [by_v, by_w] = f.gradient(Tensor<float>::full({1}, 1));
    EXPECT_EQ(by_v.placement(), r.placement());
    EXPECT_EQ(by_w.placement(), r.placement());
    const float now = f.value(v.on(r), w.on(r)).item();
    EXPECT_EQ(by_v.item(), f.value(v.on(r) + 1.0F, w.on(r)).item() - now);
    EXPECT_EQ(by_w.item(), f.value(v.on(r), w.on(r) + 1.0F).item() - now);
    return Pair(by_v.item(), by_w.item());
  });
  EXPECT_EQ(list_of(seen), std::vector<Pair>({wanted, wanted}));
}

// Overridden: nothing is recorded. The program writes the gradient of a function, which is computed
// on the device of its replica.
TEST(Conformance, RUN_29_GradientOfTwoVariables) {
  expect_gradient(kTwoVariables, 1.25F, 2, {2, 1});
}

// Overridden: as above.
TEST(Conformance, RUN_30_GradientsAreWorkedOutOnTheReplicasDevice) {
  expect_gradient(kLine, 1.5F, 0.5F, {1, 1});
}

// Overridden: no recorder drops the work of replicas other than the first. Each replica does the
// work of a replica function; the work of a merge function is done once.
TEST(Conformance, RUN_31_AMergeRecordsOnce) {
  for (int n : {1, 2}) {
    StrategyFixture fixture(n);
    std::vector<Reals> by_replica(static_cast<std::size_t>(n));
    Reals in_merge;
    fixture.strategy.run([&](ReplicaContext& r) {
      const auto id = static_cast<std::size_t>(r.replica_id());
      by_replica[id].push_back(r.replica_id());
      r.merge_call([&](CrossReplicaContext&,
                       const PerReplica<double>& ids) { in_merge.push_back(*ids.begin()); },
                   static_cast<double>(r.replica_id()));
    });
    EXPECT_EQ(in_merge, Reals({0}));
    for (std::size_t id = 0; id < by_replica.size(); ++id) {
      EXPECT_EQ(by_replica[id], Reals({static_cast<double>(id)}));
    }
  }
}

TEST(Conformance, RUN_32_DifferentNumbersOfMerges) {
  const std::vector<std::pair<int, int>> merges = {{1, 0}, {0, 1}, {2, 1}, {1, 2}};
  for (const auto& [first, second] : merges) {
    StrategyFixture fixture(2);
    int executed = 0;
    const Ints wanted = {first, second};
    const auto fn = [&](ReplicaContext& r) {
      for (int i = 0; i < wanted[static_cast<std::size_t>(r.replica_id())]; ++i) {
        r.merge_call([&](CrossReplicaContext&) { ++executed; });
      }
    };
    EXPECT_EQ(code_of([&] { fixture.strategy.run(fn); }), ErrorCode::kMergeMissing);
    EXPECT_EQ(executed, std::min(first, second));
  }
}

TEST(Conformance, RUN_34_OneReplicaThrowsBeforeItsMerge) {
  at_each_place(3, [](int odd) {
    StrategyFixture fixture(3);
    bool merged = false;
    std::vector<int> cancelled(3, 0);  // By replica.
    const auto fn = [&](ReplicaContext& r) {
      if (r.replica_id() == odd) throw Boom("odd");
      try {
        r.merge_call([&](CrossReplicaContext&) { merged = true; });
      } catch (const ReplicaCancelled&) {
        ++cancelled[r.replica_id()];
        throw;
      }
    };
    EXPECT_THROW(fixture.strategy.run({.concurrent = false}, fn), Boom);
    EXPECT_FALSE(merged);
    // Overridden: later replicas do start: the report says where each replica is.
    std::vector<int> expected(3, 1);
    expected[odd] = 0;
    EXPECT_EQ(cancelled, expected);
  });
}

TEST(Conformance, RUN_35_APlainResultGoesToAllReplicas) {
  StrategyFixture fixture(2);
  const auto got = fixture.strategy.run([](ReplicaContext& r) {
    return r.merge_call([](CrossReplicaContext&) { return std::string("one"); });
  });
  // Overridden: each replica has a copy.
  EXPECT_EQ(list_of(got), std::vector<std::string>({"one", "one"}));
}

TEST(Conformance, RUN_36_ResultsAreUnpackedThroughNests) {
  StrategyFixture fixture(2);
  const auto merge = [](CrossReplicaContext& cross) {
    return std::pair{PerReplica<int>{1, 2}, std::pair{cross.broadcast(3), std::optional<int>()}};
  };
  const auto got = fixture.strategy.run([&](ReplicaContext& r) { return r.merge_call(merge); });
  EXPECT_EQ(got[0], (std::pair{1, std::pair{3, std::optional<int>()}}));
  EXPECT_EQ(got[1], (std::pair{2, std::pair{3, std::optional<int>()}}));
}

struct Keywords {
  int k = 0;
  static auto members(auto& self) { return std::tie(self.k); }
};

// Overridden: keywords are an aggregate, and the merge function gets a PerReplica of the aggregate.
TEST(Conformance, RUN_37_NamedArgumentsOfAMerge) {
  StrategyFixture fixture(2);
  const auto merge = [](CrossReplicaContext&, const PerReplica<Keywords>& words) {
    return Ints{words[0].k, words[1].k};
  };
  const auto got = fixture.strategy.run(
      [&](ReplicaContext& r) { return r.merge_call(merge, Keywords{.k = r.replica_id()}); });
  EXPECT_EQ(got[0], Ints({0, 1}));
  EXPECT_EQ(got[1], Ints({0, 1}));
}

TEST(Conformance, RUN_38_DifferentNumbersOfArguments) {
  StrategyFixture fixture(3);
  at_each_place(3, [&](int odd) {
    const auto fn = [odd](ReplicaContext& r) {
      const MergeTag tag{"same"};
      if (r.replica_id() == odd) {
        r.merge_call(tag, [](CrossReplicaContext&, const PerReplica<int>&) {}, 1);
      } else {
        r.merge_call(
            tag, [](CrossReplicaContext&, const PerReplica<int>&, const PerReplica<int>&) {}, 1, 2);
      }
    };
    EXPECT_EQ(code_of([&] { fixture.strategy.run(fn); }), ErrorCode::kMergeTypes);
  });
}

TEST(Conformance, RUN_39_NothingFromAllReplicas) {
  StrategyFixture fixture(2);
  // Overridden: an empty value for each replica.
  EXPECT_EQ(list_of(fixture.strategy.run([](ReplicaContext&) { return std::optional<int>(); })),
            std::vector<std::optional<int>>(2));
}

// Overridden: run compares no results. An empty optional is an ordinary value. Verbs that combine
// results compare.
TEST(Conformance, RUN_40_NothingFromOneReplicaOnly) {
  StrategyFixture fixture(3);
  using Maybe = std::optional<Ints>;
  at_each_place(3, [&](int odd) {
    const auto own = [odd](ReplicaContext& r) {
      return r.replica_id() == odd ? Maybe() : Maybe(Ints{1});
    };
    const auto maybe = fixture.strategy.run(own);
    std::vector<Maybe> expected(3, Ints{1});
    expected[static_cast<std::size_t>(odd)].reset();
    EXPECT_EQ(list_of(maybe), expected);
    EXPECT_THROW(fixture.cross.reduce(ReduceOp::kSum, maybe), StructureMismatchError);
    EXPECT_THROW(
        fixture.strategy.run([&](ReplicaContext& r) { r.all_reduce(ReduceOp::kSum, own(r)); }),
        StructureMismatchError);
  });
}

// Overridden: components belong to replicas and not to devices (SEM-13). Results of a strategy fit
// every strategy with as many replicas; tensors stay on their devices until a reduction.
TEST(Conformance, RUN_41_AnArgumentOfAnotherStrategy) {
  testing::asserts("SEM-13");
  StrategyFixture two(2);
  StrategyFixture three(3);
  const auto pair = per_replica(two, [](int id) { return id; });
  EXPECT_THROW(three.strategy.run([](ReplicaContext&, int) {}, pair), InvalidArgumentError);

  StrategyFixture four(4);
  const std::vector<DeviceSpec> all = four.backend->devices();
  MirroredStrategy low(*four.backend, {.devices = {all[0], all[1]}});
  MirroredStrategy high(*four.backend, {.devices = {all[2], all[3]}});
  const auto values = low.distribute_values(
      [](int id) { return Tensor<float>::full({2}, 1.0F + static_cast<float>(id)); });
  const auto seen = high.run(
      [&](ReplicaContext& replica, const Tensor<float>& value) {
        const auto own = Tensor<float>::full({2}, 1.0F);
        const bool stays = value.placement() == low.placement(replica.replica_id());
        const ErrorCode mixed = code_of([&] { add(value, own); });
        const Tensor<float> sum = replica.all_reduce(ReduceOp::kSum, value);
        return std::tuple(stays, mixed, sum.placement() == replica.placement(), sum.to_host());
      },
      values);
  const std::vector<float> sum{3, 3};
  for (const auto& each : seen) {
    EXPECT_EQ(each, std::tuple(true, ErrorCode::kForeignObject, true, sum));
  }
}

}  // namespace
}  // namespace belfry::testing::conformance_run
