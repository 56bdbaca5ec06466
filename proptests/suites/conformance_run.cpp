// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What the reference systems do with run, its arguments and its results. A test's name begins with
// the fact it is about. Where belfry decides otherwise, the test has belfry's outcome and says so.
//
// Not here, because belfry has no such thing: ambient execution modes (RUN-18), name scopes
// (RUN-20), gradients by recording (RUN-29, RUN-30), values that stand for their component in
// expressions (RG-15 to RG-19), custom mapping classes (RG-11 to RG-13).
#include "belfry/current.h"
#include "suites/machine.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

using Numbers = std::map<std::string, double>;
using Ints = std::vector<int>;
using Reals = std::vector<double>;

struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// RUN-03 to RUN-06: what the last of three runs gives.
std::vector<double> three_runs(Machine& machine, const PerReplica<double>& first) {
  const auto second = machine.strategy.run(
      [](ReplicaContext&, double x) { return Numbers{{"a", 2 * x}, {"b", x * x}}; }, first);
  const auto third = machine.strategy.run(
      [](ReplicaContext&, const Numbers& x) { return x.at("a") + 2 * x.at("b") + 2; }, second);
  return list_of(third);
}

TEST(Conformance, RUN_01_EveryReplicaHasItsId) {
  for (int n : {1, 2, 3}) {
    Machine machine(n);
    Ints marks(static_cast<std::size_t>(n));
    machine.strategy.run(
        [&](ReplicaContext& replica) { ++marks[static_cast<std::size_t>(replica.replica_id())]; });
    EXPECT_EQ(marks, Ints(static_cast<std::size_t>(n), 1));
  }
}

TEST(Conformance, RUN_02_NumberOfReplicas) {
  Machine machine(2);
  EXPECT_EQ(machine.strategy.num_replicas(), 2);
  EXPECT_EQ(list_of(machine.strategy.run([](ReplicaContext& r) { return r.num_replicas(); })),
            Ints({2, 2}));
}

TEST(Conformance, RUN_03_IdPlusOne) {
  Machine machine(2);
  EXPECT_EQ(list_of(machine.strategy.run([](ReplicaContext& r) { return r.replica_id() + 1; })),
            Ints({1, 2}));
}

// Overridden: results are not taken apart: a PerReplica of nests, not a nest of PerReplicas.
TEST(Conformance, RUN_04_ResultsAreArgumentsOfTheNextRun) {
  Machine machine(2);
  const auto out1 = per_replica(machine, [](int id) { return id + 1.0; });
  const auto out2 = machine.strategy.run(
      [](ReplicaContext&, double x) { return Numbers{{"a", 2 * x}, {"b", x * x}}; }, out1);
  EXPECT_EQ(out2[0], (Numbers{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(out2[1], (Numbers{{"a", 4}, {"b", 4}}));
}

TEST(Conformance, RUN_05_NamedArguments) {
  Machine machine(2);
  const auto out1 = per_replica(machine, [](int id) { return id + 1.0; });
  EXPECT_EQ(three_runs(machine, out1), Reals({6, 14}));
}

TEST(Conformance, RUN_06_OneReplica) {
  Machine machine(1);
  const auto out1 = machine.strategy.run([](ReplicaContext&, double x) { return x; }, 4.0);
  EXPECT_EQ(list_of(out1), Reals({4}));
  EXPECT_EQ(three_runs(machine, out1), Reals({42}));
}

TEST(Conformance, RUN_07_ListsOfDifferentLengthDoNotReduce) {
  Machine machine(2);
  // Overridden: results are not taken apart, so that only what combines them asks for equal
  // lengths.
  const auto lists = machine.strategy.run(
      [](ReplicaContext& r) { return Ints(static_cast<std::size_t>(r.replica_id()), 1); });
  EXPECT_EQ(lists[1].size(), 1U);
  EXPECT_THROW(machine.cross.reduce(ReduceOp::kSum, lists), StructureMismatchError);
}

TEST(Conformance, RUN_08_ExceptionOfAReplicaFunction) {
  for (int n : {1, 2}) {
    Machine machine(n);
    EXPECT_THROW(machine.strategy.run([](ReplicaContext&) { throw Boom("fn"); }), Boom);
  }
}

TEST(Conformance, RUN_09_ExceptionOfAMergeFunction) {
  for (int n : {1, 2}) {
    Machine machine(n);
    const auto merge = [](CrossReplicaContext&) { throw Boom("merge"); };
    EXPECT_THROW(machine.strategy.run([&](ReplicaContext& r) { r.merge_call(merge); }), Boom);
  }
}

TEST(Conformance, RUN_10_ExceptionOfARunInsideAMerge) {
  for (int n : {1, 2}) {
    Machine machine(n);
    const auto merge = [](CrossReplicaContext& cross) {
      cross.run([](ReplicaContext&) { throw Boom("inner"); });
    };
    EXPECT_THROW(machine.strategy.run([&](ReplicaContext& r) { r.merge_call(merge); }), Boom);
  }
}

TEST(Conformance, RUN_11_ExceptionOfAMergeInsideARunInsideAMerge) {
  for (int n : {1, 2}) {
    Machine machine(n);
    const auto inner = [](CrossReplicaContext&) { throw Boom("inner"); };
    const auto merge = [&](CrossReplicaContext& cross) {
      cross.run([&](ReplicaContext& r) { r.merge_call(inner); });
    };
    EXPECT_THROW(machine.strategy.run([&](ReplicaContext& r) { r.merge_call(merge); }), Boom);
  }
}

TEST(Conformance, RUN_12_TheFunctionRunsOnceForEachReplica) {
  Machine machine(2);
  std::atomic<int> calls{0};
  const auto ids = machine.strategy.run({.concurrent = false}, [&](ReplicaContext& r) {
    ++calls;
    return r.replica_id();
  });
  EXPECT_EQ(list_of(ids), Ints({0, 1}));
  EXPECT_EQ(calls.load(), 2);
}

TEST(Conformance, RUN_13_AMergeThatReturnsNothing) {
  Machine machine(2);
  const auto zeros = machine.strategy.run([](ReplicaContext& r) {
    r.merge_call([](CrossReplicaContext&) {});
    return 0.0;
  });
  // Overridden: equal results are not made one; a result is a PerReplica always.
  EXPECT_EQ(list_of(zeros), Reals({0, 0}));
}

TEST(Conformance, RUN_14_MergeFromAnotherThread) {
  Machine machine(2);
  const auto fn = [](ReplicaContext& r) {
    ErrorCode code = ErrorCode::kInternal;
    std::thread([&] { code = code_of([&] { r.merge_call([](CrossReplicaContext&) {}); }); }).join();
    return code;
  };
  EXPECT_EQ(list_of(machine.strategy.run(fn)), std::vector<ErrorCode>(2, ErrorCode::kMergeNested));
}

TEST(Conformance, RUN_15_MergeFromAFunctionCalledDeepInside) {
  // Overridden: how deep the call is makes no difference, since nothing is recorded.
  Machine machine(2);
  const auto deep = [](const auto& self, ReplicaContext& r, int depth) -> int {
    return depth == 0 ? r.all_reduce(ReduceOp::kSum, 1) : self(self, r, depth - 1);
  };
  EXPECT_EQ(list_of(machine.strategy.run([&](ReplicaContext& r) { return deep(deep, r, 9); })),
            Ints({2, 2}));
}

TEST(Conformance, RUN_16_AVariableMadeInAReplicaIsThatVariable) {
  Machine machine(3);
  const Variable<double> variable = machine.strategy.run([&](ReplicaContext& r) {
    auto made = machine.strategy.variable(1.0, {.name = "foo"});
    r.merge_call([](CrossReplicaContext&) {});
    return made;
  });
  EXPECT_EQ(variable.name(), "foo");
  EXPECT_EQ(variable.devices(), machine.strategy.worker_devices());
}

TEST(Conformance, RUN_17_CreatorsOfAReplicaAreItsOwn) {
  Machine machine(2);
  std::vector<std::string> names(2);
  const VariableScope outer =
      machine.strategy.variable_creator_scope([&](VariableOptions& options) {
        options.name = "main_thread" + options.name;
        names[static_cast<std::size_t>(current_replica()->replica_id())] = options.name;
      });
  machine.strategy.run([&](ReplicaContext& r) {
    const std::string own = ":thread_" + std::to_string(r.replica_id());
    const VariableScope inner = machine.strategy.variable_creator_scope(
        [own](VariableOptions& options) { options.name = own; });
    r.merge_call([](CrossReplicaContext&) {});
    machine.strategy.variable(1.0);
  });
  EXPECT_EQ(names, (std::vector<std::string>{"main_thread:thread_0", "main_thread:thread_1"}));
}

TEST(Conformance, RUN_21_SumOfThreePlusId) {
  const std::map<int, Ints> expected = {
      {1, {6}}, {2, {10, 11}}, {3, {15, 16, 17}}, {4, {21, 22, 23, 24}}};
  for (const auto& [n, results] : expected) {
    Machine machine(n);
    const auto merged = machine.strategy.run(
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
    EXPECT_EQ(machine.strategy.local_results(merged), results);
  }
}

TEST(Conformance, RUN_23_EqualResultsStayPerReplica) {
  Machine machine(2);
  const auto twos = per_replica(machine, [](int) { return 2; });
  // Overridden: one for each replica, also when they are equal.
  EXPECT_EQ(list_of(machine.strategy.run([](ReplicaContext&, int x) { return 2 * x; }, twos)),
            Ints({4, 4}));
}

TEST(Conformance, RUN_24_AllReduceByName) {
  Machine machine(2);
  const auto sums = machine.strategy.run(
      [](ReplicaContext& r) { return r.all_reduce(parse_reduce_op("sum"), r.replica_id()); });
  EXPECT_EQ(list_of(sums), Ints({1, 1}));
}

TEST(Conformance, RUN_25_PerReplicaArguments) {
  Machine machine(2);
  const auto v = machine.strategy.mirrored_variable(1.25);
  const PerReplica<double> factor{5.0, 3.0};
  EXPECT_EQ(list_of(machine.strategy.run([&](ReplicaContext& r, double f) { return f * v.on(r); },
                                         factor)),
            Reals({6.25, 3.75}));
}

TEST(Conformance, RUN_26_AVariableInAReplica) {
  Machine machine(2);
  const auto v = machine.strategy.mirrored_variable(1.25);
  EXPECT_EQ(list_of(machine.strategy.run([&](ReplicaContext& r) { return 2 * v.on(r); })),
            Reals({2.5, 2.5}));
}

TEST(Conformance, RUN_28_TwoVariablesInAReplica) {
  Machine machine(2);
  const auto v = machine.strategy.mirrored_variable(1.25);
  const auto w = machine.strategy.mirrored_variable(2.0);
  EXPECT_EQ(
      list_of(machine.strategy.run([&](ReplicaContext& r) { return 2 * v.on(r) + w.on(r) + 1; })),
      Reals({5.5, 5.5}));
}

TEST(Conformance, RUN_31_OneReplicaRecords) {
  for (int n : {1, 2}) {
    Machine machine(n);
    Reals records;
    machine.strategy.run([&](ReplicaContext& r) {
      if (r.replica_id() == 0) records.push_back(r.replica_id());
    });
    EXPECT_EQ(records, Reals({0}));
  }
}

TEST(Conformance, RUN_32_DifferentNumbersOfMerges) {
  const std::vector<std::pair<int, int>> merges = {{1, 0}, {0, 1}, {2, 1}, {1, 2}};
  for (const auto& [first, second] : merges) {
    Machine machine(2);
    int executed = 0;
    const Ints wanted = {first, second};
    const auto fn = [&](ReplicaContext& r) {
      for (int i = 0; i < wanted[static_cast<std::size_t>(r.replica_id())]; ++i) {
        r.merge_call([&](CrossReplicaContext&) { ++executed; });
      }
    };
    EXPECT_EQ(code_of([&] { machine.strategy.run(fn); }), ErrorCode::kMergeMissing);
    EXPECT_EQ(executed, std::min(first, second));
  }
}

TEST(Conformance, RUN_34_OneReplicaThrowsBeforeItsMerge) {
  Machine machine(3);
  bool merged = false;
  bool cancelled = false;
  bool third_started = false;
  const auto fn = [&](ReplicaContext& r) {
    if (r.replica_id() == 1) throw Boom("second");
    if (r.replica_id() == 2) third_started = true;
    try {
      r.merge_call([&](CrossReplicaContext&) { merged = true; });
    } catch (const ReplicaCancelled&) {
      if (r.replica_id() == 0) cancelled = true;
      throw;
    }
  };
  EXPECT_THROW(machine.strategy.run({.concurrent = false}, fn), Boom);
  EXPECT_FALSE(merged);
  EXPECT_TRUE(cancelled);
  // Overridden: the others do start, so that the report can say where each of them is.
  EXPECT_TRUE(third_started);
}

TEST(Conformance, RUN_35_APlainResultGoesToAllReplicas) {
  Machine machine(2);
  const auto got = machine.strategy.run([](ReplicaContext& r) {
    return r.merge_call([](CrossReplicaContext&) { return std::string("one"); });
  });
  // Overridden: each replica has a copy of it.
  EXPECT_EQ(list_of(got), std::vector<std::string>({"one", "one"}));
}

TEST(Conformance, RUN_36_ResultsAreUnpackedThroughNests) {
  Machine machine(2);
  const auto merge = [](CrossReplicaContext& cross) {
    return std::pair{PerReplica<int>{1, 2}, std::pair{cross.broadcast(3), std::optional<int>()}};
  };
  const auto got = machine.strategy.run([&](ReplicaContext& r) { return r.merge_call(merge); });
  EXPECT_EQ(got[0], (std::pair{1, std::pair{3, std::optional<int>()}}));
  EXPECT_EQ(got[1], (std::pair{2, std::pair{3, std::optional<int>()}}));
}

struct Keywords {
  int k = 0;
  static auto members(auto& self) { return std::tie(self.k); }
};

// Overridden: keywords are an aggregate, and the merge function gets a PerReplica of it.
TEST(Conformance, RUN_37_NamedArgumentsOfAMerge) {
  Machine machine(2);
  const auto merge = [](CrossReplicaContext&, const PerReplica<Keywords>& words) {
    return Ints{words[0].k, words[1].k};
  };
  const auto got = machine.strategy.run(
      [&](ReplicaContext& r) { return r.merge_call(merge, Keywords{.k = r.replica_id()}); });
  EXPECT_EQ(got[0], Ints({0, 1}));
  EXPECT_EQ(got[1], Ints({0, 1}));
}

TEST(Conformance, RUN_38_DifferentNumbersOfArguments) {
  Machine machine(2);
  const auto fn = [](ReplicaContext& r) {
    const MergeTag tag{"same"};
    if (r.replica_id() == 0) {
      r.merge_call(tag, [](CrossReplicaContext&, const PerReplica<int>&) {}, 1);
    } else {
      r.merge_call(
          tag, [](CrossReplicaContext&, const PerReplica<int>&, const PerReplica<int>&) {}, 1, 2);
    }
  };
  EXPECT_EQ(code_of([&] { machine.strategy.run(fn); }), ErrorCode::kMergeTypes);
}

TEST(Conformance, RUN_39_NothingFromAllReplicas) {
  Machine machine(2);
  // Overridden: one nothing for each replica.
  EXPECT_EQ(list_of(machine.strategy.run([](ReplicaContext&) { return std::optional<int>(); })),
            std::vector<std::optional<int>>(2));
}

// Overridden: run compares no results: an optional that is empty is one of its values. What
// combines them compares.
TEST(Conformance, RUN_40_NothingFromOneReplicaOnly) {
  Machine machine(2);
  using Maybe = std::optional<Ints>;
  const auto maybe = machine.strategy.run(
      [](ReplicaContext& r) { return r.replica_id() == 0 ? Maybe() : Maybe(Ints{1}); });
  EXPECT_EQ(list_of(maybe), (std::vector<Maybe>{std::nullopt, Ints{1}}));
  EXPECT_THROW(machine.cross.reduce(ReduceOp::kSum, maybe), StructureMismatchError);
  EXPECT_THROW(machine.strategy.run([](ReplicaContext& r) {
    r.all_reduce(ReduceOp::kSum, r.replica_id() == 0 ? Maybe() : Maybe(Ints{1}));
  }),
               StructureMismatchError);
}

TEST(Conformance, RUN_41_AnArgumentOfAnotherStrategy) {
  Machine two(2);
  Machine three(3);
  const auto pair = per_replica(two, [](int id) { return id; });
  EXPECT_THROW(three.strategy.run([](ReplicaContext&, int) {}, pair), InvalidArgumentError);
}

using Nested =
    std::tuple<std::string, std::vector<std::string>, std::map<std::string, std::string>>;

Nested nested(int id) {
  const std::string k = std::to_string(id + 1);
  return {"a" + k, {"b" + k, "g" + k}, {{"c", "d" + k}, {"e", "f" + k}}};
}

// Overridden (RG-01): results are not taken apart: a PerReplica of nests, not a nest of
// PerReplicas.
TEST(Conformance, RG_01_RG_02_ComponentsAreTheOriginalNests) {
  Machine machine(2);
  const auto all = machine.strategy.run([](ReplicaContext& r) { return nested(r.replica_id()); });
  for (int id : {0, 1}) EXPECT_EQ(all[id], nested(id));
}

// Overridden: a Mirrored of a nest, not a nest of Mirrored values.
TEST(Conformance, RG_04_MirroredNestsGiveTheSameToAll) {
  Machine machine(2);
  const auto all = machine.cross.broadcast(nested(0));
  EXPECT_EQ(list_of(machine.strategy.run([](ReplicaContext&, const Nested& x) { return x; }, all)),
            std::vector<Nested>({nested(0), nested(0)}));
}

// Overridden: results are not taken apart: a PerReplica of pairs, not a pair of PerReplicas.
TEST(Conformance, RG_05_ListsOfPairs) {
  Machine machine(2);
  using Pair = std::pair<std::string, std::string>;
  const auto pairs = machine.strategy.run(
      [](ReplicaContext& r) { return r.replica_id() == 0 ? Pair("1", "2") : Pair("3", "4"); });
  EXPECT_EQ(list_of(pairs), (std::vector<Pair>{{"1", "2"}, {"3", "4"}}));
}

// Overridden: as above.
TEST(Conformance, RG_07_OneObjectStaysOneObject) {
  Machine machine(2);
  const auto object = std::make_shared<int>(5);
  const auto got = machine.strategy.run([&](ReplicaContext& r) {
    return std::pair{std::string(r.replica_id() == 0 ? "a" : "b"), object};
  });
  EXPECT_EQ(got[0], (std::pair{std::string("a"), object}));
  EXPECT_EQ(got[1], (std::pair{std::string("b"), object}));
}

TEST(Conformance, RG_09_AVariableOfOneReplicaIsThatVariable) {
  Machine machine(1);
  auto variable = machine.strategy.mirrored_variable(1);
  const auto returned = machine.strategy.run([&](ReplicaContext&) { return variable; });
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
  Machine machine(3);
  const std::vector<std::shared_ptr<int>> scaffolds = {
      std::make_shared<int>(0), std::make_shared<int>(1), std::make_shared<int>(2)};
  const auto record = [&](int id) {
    return Record{"train", id / 2.0, id, scaffolds[static_cast<std::size_t>(id)]};
  };
  const auto all = machine.strategy.run([&](ReplicaContext& r) { return record(r.replica_id()); });
  for (int id : {0, 1, 2}) EXPECT_EQ(all[id], record(id));
  EXPECT_EQ(all[1].loss, 0.5);
}

TEST(Conformance, RG_14_ComponentsByReplica) {
  // Overridden: a component is asked for by its replica, not by a device string.
  const PerReplica<int> value{1, 2};
  EXPECT_EQ(value[1], 2);
  EXPECT_THROW(value[2], InvalidArgumentError);
}

TEST(Conformance, DVF_01_OneNumber) {
  for (int n = 1; n <= 4; ++n) {
    Machine machine(n);
    EXPECT_EQ(list_of(per_replica(machine, [](int) { return 1; })),
              Ints(static_cast<std::size_t>(n), 1));
  }
}

TEST(Conformance, DVF_02_OneList) {
  for (int n = 1; n <= 4; ++n) {
    Machine machine(n);
    for (const Ints& list : per_replica(machine, [](int) { return Ints{1, 2, 3}; })) {
      EXPECT_EQ(list, Ints({1, 2, 3}));
    }
  }
}

TEST(Conformance, DVF_03_OneTuple) {
  Machine machine(4);
  const std::tuple tuple{1.0, 2.0, 3.0};
  // Overridden: a PerReplica of tuples, not a tuple of PerReplicas.
  for (const auto& own : per_replica(machine, [&](int) { return tuple; })) EXPECT_EQ(own, tuple);
}

// Overridden: a PerReplica of tuples, not a tuple of PerReplicas.
TEST(Conformance, DVF_04_TuplesThatDiffer) {
  Machine machine(2);
  const auto got = per_replica(machine, [](int i) { return std::tuple{i, 2 * i, 3 * i}; });
  EXPECT_EQ(got[0], (std::tuple{0, 0, 0}));
  EXPECT_EQ(got[1], (std::tuple{1, 2, 3}));
}

TEST(Conformance, DVF_05_ElementsOfAnArray) {
  Machine machine(4);
  EXPECT_EQ(list_of(per_replica(machine, [](int i) { return Ints{0, 1, 2, 3}.at(i); })),
            Ints({0, 1, 2, 3}));
}

TEST(Conformance, DVF_06_RunOnThem) {
  Machine machine(4);
  const auto values = per_replica(machine, [](int i) { return i; });
  EXPECT_EQ(list_of(machine.strategy.run([](ReplicaContext&, int x) { return x * x; }, values)),
            Ints({0, 1, 4, 9}));
}

TEST(Conformance, DVF_07_TensorsWithoutAPlacement) {
  Machine machine(2);
  const auto values = per_replica(machine, [](int) { return Tensor<float>::full({1}, 1); });
  // Overridden: they are made on the device of the replica they are for.
  for (int i : {0, 1}) EXPECT_EQ(values[i].placement(), machine.place(i));
}

TEST(Conformance, DVF_08_TensorsWithAPlacement) {
  Machine machine(2);
  const auto values =
      per_replica(machine, [&](int i) { return Tensor<float>::full({1}, 1, machine.place(i)); });
  for (int i : {0, 1}) EXPECT_EQ(values[i].placement(), machine.place(i));
}

TEST(Conformance, DVF_09_ElementsOfAnArrayOfReals) {
  Machine machine(2);
  EXPECT_EQ(list_of(per_replica(machine, [](int i) { return Reals{3, 2, 1}.at(i); })),
            Reals({3, 2}));
}

}  // namespace
}  // namespace belfry::testing
