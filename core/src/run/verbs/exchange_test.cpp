// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Exchanges between replicas: examples, names, and refusals.
#include "belfry/backend/collective.h"
#include "belfry/backend/host_backend.h"
#include "belfry/group_context.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/replica_groups.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/vjp.h"
#include "collectives/testing/counting_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::exchange_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using List = std::vector<int>;

class Exchange : public ::testing::Test {
 protected:
  // The text of the error of a run.
  template <class E, class F>
  std::string refusal(const F& body) {
    try {
      strategy_.run(body);
    } catch (const E& error) {
      return error.what();
    }
    return "no error";
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

TEST_F(Exchange, FourRowsOnThreeReplicasAreTwoOneAndOne) {
  testing::asserts("SEM-261");
  const auto parts = strategy_.run([](ReplicaContext& replica) {
    return replica.reduce_scatter(ReduceOp::kSum, List(4, replica.replica_id() + 1), Axis(0));
  });
  EXPECT_THAT(parts, ElementsAre(List{6, 6}, List{6}, List{6}));
}

TEST_F(Exchange, SizesMayBeNoneForAReplica) {
  testing::asserts("SEM-261");
  const auto parts = strategy_.run([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    const auto own = Tensor<int>::from({2, 3}, {id, 1, 2, 3, 4, 5});
    return replica.reduce_scatter(ReduceOp::kSum, own, Axis(1), {0, 2, 1}).to_host();
  });
  EXPECT_THAT(parts, ElementsAre(List{}, List{3, 3, 9, 12}, List{6, 15}));
}

// Text is no nest: verbs that only move values take any type.
TEST_F(Exchange, MovesValuesOfAnyType) {
  const auto texts = strategy_.run([](ReplicaContext& replica) {
    return replica.broadcast(std::to_string(10 + replica.replica_id()), 1);
  });
  EXPECT_THAT(texts, Each("11"));
  const auto flags = strategy_.run([](ReplicaContext& replica) {
    return replica.all_to_all(std::vector<bool>{true, replica.replica_id() == 1, false});
  });
  EXPECT_THAT(flags[1], ElementsAre(false, true, false));
}

TEST_F(Exchange, PartsMayDifferInStructure) {
  testing::asserts("SEM-262");
  using Weights = std::map<std::string, int>;
  const auto received = strategy_.run([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    return replica.all_to_all(std::vector<Weights>{{{"a", id}}, {}, {{"b", id}, {"c", 0}}});
  });
  EXPECT_THAT(received[0], ElementsAre(Weights{{"a", 0}}, Weights{{"a", 1}}, Weights{{"a", 2}}));
  EXPECT_THAT(received[1], Each(Weights{}));
}

TEST_F(Exchange, ASenderMayHaveSeveralReceivers) {
  testing::asserts("SEM-264");
  const auto received = strategy_.run([](ReplicaContext& replica) {
    return replica.permute(replica.replica_id(), {{2, 0}, {2, 2}});
  });
  EXPECT_THAT(received, ElementsAre(2, std::nullopt, 2));
}

TEST_F(Exchange, AReplicaAloneExchangesWithItself) {
  testing::asserts("SEM-260");
  MirroredStrategy alone{backend_, {.devices = {backend_.device_spec(0)}}};
  alone.run([](ReplicaContext& replica) {
    EXPECT_THAT(replica.reduce_scatter(ReduceOp::kMean, std::vector<double>{1, 2}, Axis(0)),
                ElementsAre(1, 2));
    EXPECT_THAT(replica.all_to_all(List{4}), ElementsAre(4));
    EXPECT_EQ(replica.broadcast(5, 0), 5);
    EXPECT_EQ(replica.permute(6, {{0, 0}}), 6);
    EXPECT_EQ(replica.permute(6, {}), std::nullopt);
    EXPECT_EQ(replica.scatter_from(List{7}, 0), 7);
    EXPECT_EQ(replica.gather_to(List{8}, 0), List{8});
  });
}

// Parts are for the replicas that take part; roots and pairs are ids.
TEST_F(Exchange, ReplicasThatTakeNoPartGetNothing) {
  testing::asserts("SEM-260");
  const auto some = PerReplica<int>::from({10, std::nullopt, 12});
  const auto parts = strategy_.run(
      [](ReplicaContext& replica, int value) {
        const List rows = replica.reduce_scatter(ReduceOp::kSum, List{1, 2, value}, Axis(0));
        const List given = replica.scatter_from(List{value, value + 1, value + 2}, Axis(0), 2);
        const int swapped = replica.all_to_all(List{value, value + 1})[1];
        const auto passed = replica.permute(value, {{2, 0}});
        return std::tuple(rows, given, swapped, passed.value_or(-1));
      },
      some);
  EXPECT_EQ(parts[0], std::tuple(List{2, 4}, List{12, 13}, 12, 12));
  EXPECT_EQ(parts[2], std::tuple(List{22}, List{14}, 13, -1));
  EXPECT_FALSE(parts.has(1));
}

// The groups {0, 2} and {1}: index 1 is replica 2.
TEST_F(Exchange, GroupsNameTheirMembersByIndex) {
  testing::asserts("SEM-260");
  const ReplicaGroups groups = strategy_.groups({{0, 2}, {1}});
  const auto met = strategy_.run([&](ReplicaContext& replica) {
    const auto group = replica.in(groups);
    const int id = replica.replica_id();
    const auto count = static_cast<std::size_t>(group.size());
    const List swapped = group.all_to_all(List(count, id));
    const List rows = group.reduce_scatter(ReduceOp::kSum, List{1, id, 5}, Axis(0));
    const auto joined = group.gather_to(List{id}, 0);
    return std::tuple(swapped, rows, joined.value_or(List()), group.broadcast(10 + id, 0),
                      group.permute(id, {{0, group.size() - 1}}).value_or(-1));
  });
  EXPECT_EQ(met[0], std::tuple(List{0, 2}, List{2, 2}, List{0, 2}, 10, -1));
  EXPECT_EQ(met[1], std::tuple(List{1}, List{1, 1, 5}, List{1}, 11, 1));
  EXPECT_EQ(met[2], std::tuple(List{0, 2}, List{10}, List{}, 10, 0));
  const auto missing = refusal<InvalidArgumentError>([&](ReplicaContext& replica) {
    if (replica.replica_id() != 1) replica.in(groups).broadcast(1, 2);
  });
  EXPECT_THAT(missing, HasSubstr("broadcast names root 2, which does not exist"));
  EXPECT_THAT(missing, HasSubstr("a group numbers its members by index(): 0 to 1"));
}

TEST_F(Exchange, EveryVerbTakesAName) {
  testing::asserts("SEM-132");
  const auto met = strategy_.run([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    const auto exchange = [&](int value) {  // At two lines.
      return id == 0 ? replica.broadcast(MergeTag{"b"}, value, 2)
                     : replica.broadcast(MergeTag{"b"}, value, 2);
    };
    int sum = exchange(id);
    sum += replica.reduce_scatter(MergeTag{"r"}, ReduceOp::kSum, List(3, 1), Axis(0))[0];
    sum += replica.all_to_all(MergeTag{"a"}, List(3, 10))[0];
    sum += replica.permute(MergeTag{"p"}, 100, {{0, 0}, {0, 1}, {0, 2}}).value();
    sum += replica.scatter_from(MergeTag{"s"}, List(3, 1000), 0);
    sum += replica.scatter_from(MergeTag{"t"}, List(3, 10000), Axis(0), 0)[0];
    const auto joined = replica.gather_to(MergeTag{"g"}, List(1, 100000), 1);
    return sum + (joined ? (*joined)[2] : 0) +
           (replica.gather_to(MergeTag{"h"}, List(), Axis(0), 1) ? 1000000 : 0);
  });
  EXPECT_THAT(met, ElementsAre(11115, 1111115, 11115));
}

// The part of the root keeps no bytes of the whole.
TEST_F(Exchange, APartIsAValueOfItsOwn) {
  const auto values = strategy_.run([](ReplicaContext& replica) {
    auto whole = Tensor<int>::from({3}, {1, 2, 3});
    auto part = replica.scatter_from(whole, Axis(0), 0);
    const auto back = replica.gather_to(part, 0);
    return part.any().bytes() == sizeof(int) && !part.any().is_shared() &&
           (!back || back->to_host() == List{1, 2, 3});
  });
  EXPECT_THAT(values, Each(true));
}

// The bytes from device to device, of an exchange of 4 x 2 floats on each of three devices.
using Bytes = std::map<std::pair<int, int>, std::size_t>;
template <class F>
Bytes bytes_of(const F& exchange) {
  testing::CountingLinks backend(3);
  MirroredStrategy strategy(backend);
  strategy.run([&](ReplicaContext& replica) {
    exchange(replica, Tensor<float>::full({4, 2}, static_cast<float>(replica.replica_id())));
  });
  Bytes bytes;
  for (const auto& [link, traffic] : backend.traffic().links) bytes[link] = traffic.bytes;
  EXPECT_EQ(backend.traffic().remote_operands, 0U);
  return bytes;
}

// A cotangent of 12 rows: each replica gets its 4 rows of each other, and no device adds all 12.
TEST(ExchangedBytes, AGatherGoesBackAsPartsOfASum) {
  testing::asserts("SEM-127");
  Bytes all;
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) all[{from, to}] = 32;
    }
  }
  EXPECT_EQ(bytes_of([](ReplicaContext& replica, const Tensor<float>& rows) {
              const auto cotangent = Tensor<float>::full({12, 2}, 1);
              EXPECT_THAT(all_gather_vjp(replica, rows, cotangent).to_host(), Each(3));
            }),
            all);
}

// The communicator has replica order. Rows 0, 1, 2 and 3, 4, 5 of all; replica 0 gets none.
TEST(NativeReduceScatter, IsOneCallOfTheCommunicatorForALeaf) {
  testing::asserts("SEM-261");
  using Rows = std::vector<std::vector<float>>;
  const auto calls = [](const StrategyOptions& options, Axis axis, const Rows& expected) {
    testing::CountingLinks backend(3, true);
    MirroredStrategy strategy(backend, options);
    strategy.run([&](ReplicaContext& replica) {
      const auto rows = Tensor<float>::from({2, 3}, {0, 1, 2, 3, 4, 5});
      const auto sizes =
          axis.value == 0 ? std::vector<std::int64_t>{0, 1, 1} : std::vector<std::int64_t>{0, 1, 2};
      const auto part = replica.reduce_scatter(ReduceOp::kSum, rows, axis, sizes);
      EXPECT_EQ(part.to_host(), expected[static_cast<std::size_t>(replica.replica_id())]);
      EXPECT_EQ(part.shape().extent(axis.value),
                sizes[static_cast<std::size_t>(replica.replica_id())]);
    });
    return std::pair(backend.traffic().collectives, backend.traffic().links.empty());
  };
  const std::map<CollectiveKind, std::size_t> one{{CollectiveKind::kReduceScatter, 1}};
  const Rows by_row{{}, {0, 3, 6}, {9, 12, 15}};
  const Rows by_column{{}, {0, 9}, {3, 6, 12, 15}};
  EXPECT_EQ(calls({}, Axis(0), by_row), std::pair(one, true));
  EXPECT_EQ(calls({}, Axis(1), by_column), std::pair(one, true));
  const StrategyOptions named{.order = ReductionOrder::kReplicaOrder};
  EXPECT_EQ(calls(named, Axis(1), by_column), std::pair(one, true));
  const StrategyOptions other{.order = ReductionOrder::kTree};
  EXPECT_EQ(calls(other, Axis(1), by_column), std::pair(decltype(one)(), false));
  const StrategyOptions ring{.cross_device_ops = std::make_shared<RingAllReduce>()};
  EXPECT_EQ(calls(ring, Axis(0), by_row), std::pair(decltype(one)(), false));
}

// A row has 8 bytes, and a column 16.
TEST(ExchangedBytes, GoToTheirReceiverAlone) {
  testing::asserts("SEM-260");
  using Row = Tensor<float>;
  const Bytes parts = {{{0, 1}, 8}, {{0, 2}, 8},  {{1, 0}, 16},
                       {{1, 2}, 8}, {{2, 0}, 16}, {{2, 1}, 8}};
  EXPECT_EQ(bytes_of([](ReplicaContext& replica, const Row& rows) {
              replica.reduce_scatter(ReduceOp::kSum, rows, Axis(0));
            }),
            parts);
  EXPECT_EQ(bytes_of([](ReplicaContext& replica, const Row& rows) {
              replica.reduce_scatter(ReduceOp::kMean, rows, Axis(1), {0, 0, 2});
            }),
            (Bytes{{{0, 2}, 32}, {{1, 2}, 32}}));
  EXPECT_EQ(bytes_of([](ReplicaContext& replica, const Row& rows) {
              replica.all_to_all(std::vector{slice(rows, Axis(0), 0, 2), slice(rows, Axis(0), 2, 3),
                                             slice(rows, Axis(0), 3, 4)});
            }),
            parts);
  EXPECT_EQ(bytes_of([](ReplicaContext& replica, const Row& rows) { replica.broadcast(rows, 1); }),
            (Bytes{{{1, 0}, 32}, {{1, 2}, 32}}));
  EXPECT_EQ(bytes_of([](ReplicaContext& replica, const Row& rows) {
              replica.permute(rows, {{2, 0}, {1, 1}});
            }),
            (Bytes{{{2, 0}, 32}}));
  EXPECT_EQ(bytes_of([](ReplicaContext& replica, const Row& rows) {
              replica.scatter_from(rows, Axis(1), 2);
            }),
            (Bytes{{{2, 0}, 16}, {{2, 1}, 16}}));
  EXPECT_EQ(bytes_of([](ReplicaContext& replica, const Row& rows) {
              replica.gather_to(rows, Axis(1), 2);
            }),
            (Bytes{{{0, 2}, 32}, {{1, 2}, 32}}));
}

TEST_F(Exchange, RefusesRootsThatDifferOrDoNotExist) {
  testing::asserts("SEM-267");
  const auto differ = refusal<StructureMismatchError>(
      [](ReplicaContext& replica) { replica.broadcast(1, replica.replica_id() == 2 ? 1 : 0); });
  EXPECT_THAT(differ, HasSubstr("replicas differ in the root of one broadcast"));
  EXPECT_THAT(differ, HasSubstr("replica 2"));
  EXPECT_THAT(differ, HasSubstr("names root 1"));
  EXPECT_THAT(differ, HasSubstr("exchange_test.cpp:"));
  for (const int root : {-1, 3}) {
    const auto missing = refusal<InvalidArgumentError>(
        [root](ReplicaContext& replica) { replica.gather_to(List{1}, root); });
    EXPECT_THAT(missing, HasSubstr("gather_to names root " + std::to_string(root) +
                                   ", which does not exist"));
    EXPECT_THAT(missing, HasSubstr("the replicas are 0 to 2"));
    EXPECT_THAT(missing, HasSubstr("exchange_test.cpp:"));
  }
}

TEST_F(Exchange, RefusesARootThatTakesNoPart) {
  testing::asserts("SEM-267");
  const auto some = PerReplica<int>::from({10, std::nullopt, 12});
  try {
    strategy_.run([](ReplicaContext& replica, int value) { replica.scatter_from(List{value}, 1); },
                  some);
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("scatter_from names root 1, which takes no part in this run"));
  }
}

TEST_F(Exchange, RefusesPairsThatDifferOrConflict) {
  testing::asserts("SEM-267");
  const auto differ = refusal<StructureMismatchError>([](ReplicaContext& replica) {
    replica.permute(1, {{0, replica.replica_id() == 1 ? 2 : 1}});
  });
  EXPECT_THAT(differ, HasSubstr("replicas differ in the pairs of one permute"));
  EXPECT_THAT(differ, HasSubstr("names the pairs 0 to 2"));
  const auto conflict = refusal<InvalidArgumentError>(
      [](ReplicaContext& replica) { replica.permute(1, {{0, 1}, {2, 1}}); });
  EXPECT_THAT(conflict, HasSubstr("permute sends from 0 and from 2 to 1"));
  const auto twice = refusal<InvalidArgumentError>(
      [](ReplicaContext& replica) { replica.permute(1, {{0, 1}, {0, 1}}); });
  EXPECT_THAT(twice, HasSubstr("permute sends from 0 and from 0 to 1"));
  const auto missing = refusal<InvalidArgumentError>(
      [](ReplicaContext& replica) { replica.permute(1, {{0, 1}, {1, 3}}); });
  EXPECT_THAT(missing, HasSubstr("permute names receiver 3, which does not exist"));
}

TEST_F(Exchange, RefusesAnotherNumberOfParts) {
  testing::asserts("SEM-267");
  const auto text = refusal<InvalidArgumentError>(
      [](ReplicaContext& replica) { replica.all_to_all(List(replica.replica_id() == 1 ? 2 : 3)); });
  EXPECT_THAT(text, HasSubstr("all_to_all takes a part for each replica: 3 replicas take part"));
  EXPECT_THAT(text, HasSubstr("brings 2 parts"));
  const auto of_root = refusal<InvalidArgumentError>(
      [](ReplicaContext& replica) { replica.scatter_from(List(4), 2); });
  EXPECT_THAT(of_root, HasSubstr("replica 2"));
  EXPECT_THAT(of_root, HasSubstr("brings 4 parts"));
  EXPECT_THAT(of_root, Not(HasSubstr("replica 1 ")));
}

TEST_F(Exchange, RefusesSizesThatDoNotAddUp) {
  testing::asserts("SEM-267");
  const auto with = [&](std::vector<std::int64_t> sizes) {
    return refusal<InvalidArgumentError>([&](ReplicaContext& replica) {
      replica.reduce_scatter(ReduceOp::kSum, List(4), Axis(0), sizes);
    });
  };
  EXPECT_THAT(with({2, 1, 2}), HasSubstr("names the sizes 2, 1, 2 of an axis of 4"));
  EXPECT_THAT(with({5, -2, 1}), HasSubstr("names the sizes 5, -2, 1 of an axis of 4"));
  EXPECT_THAT(with({1, 1, 1}), HasSubstr("add up to the extent of the axis"));
  EXPECT_THAT(with({2, 2}), HasSubstr("names the sizes 2, 2, and 3 replicas take part"));
}

TEST_F(Exchange, RefusesOperatorsAxesAndStructuresThatDiffer) {
  testing::asserts("SEM-267");
  EXPECT_THAT(refusal<StructureMismatchError>([](ReplicaContext& replica) {
                const auto op = replica.replica_id() == 0 ? ReduceOp::kSum : ReduceOp::kMean;
                replica.reduce_scatter(op, std::vector<float>(3), Axis(0));
              }),
              HasSubstr("replicas differ in the operator of one reduce_scatter"));
  EXPECT_THAT(refusal<StructureMismatchError>([](ReplicaContext& replica) {
                replica.gather_to(List(3), Axis(replica.replica_id() == 1 ? -1 : 0), 0);
              }),
              HasSubstr("replicas differ in the axis of one gather_to"));
  EXPECT_THAT(refusal<StructureMismatchError>([](ReplicaContext& replica) {
                const auto rows = static_cast<std::size_t>(replica.replica_id());
                replica.reduce_scatter(ReduceOp::kSum, List(rows), Axis(0));
              }),
              HasSubstr("has int32[1]"));
  EXPECT_THAT(refusal<InvalidArgumentError>([](ReplicaContext& replica) {
                replica.reduce_scatter(ReduceOp::kMean, std::tuple(std::vector{1.0}, List(3)),
                                       Axis(0));
              }),
              HasSubstr("at leaf 1[1]"));
  EXPECT_THAT(refusal<InvalidArgumentError>(
                  [](ReplicaContext& replica) { replica.scatter_from(List(3), Axis(1), 0); }),
              HasSubstr("scatter_from along axis 1"));
}

// Replica 2 sends to all three, whose cotangents are added in the order of ids: 1e16 - 1e16 + 3.
TEST_F(Exchange, APermutationGoesBackAsASum) {
  testing::asserts("SEM-127");
  using Step = std::pair<Tensor<double>, std::vector<double>>;
  const std::vector<std::pair<int, int>> pairs = {{2, 1}, {2, 2}, {2, 0}};
  const auto back = strategy_.run([&](ReplicaContext& replica) {
    const double terms[] = {1e16, -1e16, 3};
    const double own = terms[replica.replica_id()];
    const auto sum =
        permute_vjp(replica, std::optional(Step(Tensor<double>::full({2}, own), {own})), pairs);
    if (!sum) return std::vector<double>();
    EXPECT_EQ(sum->first.placement(), replica.placement());
    std::vector<double> values = sum->first.to_host();
    values.push_back(sum->second.at(0));
    return values;
  });
  EXPECT_THAT(back, ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(3, 3, 3)));
  EXPECT_THAT(refusal<StructureMismatchError>([&](ReplicaContext& replica) {
                const auto rows = static_cast<std::size_t>(replica.replica_id() / 2 + 1);
                permute_vjp(replica, std::optional(List(rows)), pairs);
              }),
              HasSubstr("int32[2]"));
}

TEST_F(Exchange, RefusesACotangentOfAnotherLength) {
  testing::asserts("SEM-127");
  for (const std::size_t length : {2, 4}) {
    EXPECT_THAT(refusal<InvalidArgumentError>([&](ReplicaContext& replica) {
                  all_gather_vjp(replica, List(1), List(length));
                }),
                HasSubstr("a cotangent of " + std::to_string(length) +
                          " elements along the axis, and 3 were gathered"));
  }
}

// A list of 3 and a list of 6, each with sizes of its own.
TEST_F(Exchange, EachLeafMayHaveItsSizes) {
  testing::asserts("SEM-260");
  const auto parts = strategy_.run([](ReplicaContext& replica) {
    return replica.scatter_from(std::pair(List{1, 2, 3}, List{1, 2, 3, 4, 5, 6}), Axis(0), 0,
                                {0, 3, 0, 1, 2, 3});
  });
  EXPECT_THAT(parts, ElementsAre(std::pair(List{}, List{1}), std::pair(List{1, 2, 3}, List{2, 3}),
                                 std::pair(List{}, List{4, 5, 6})));
}

TEST_F(Exchange, HasNoDerivativeByAnOperatorThatIsNotLinear) {
  testing::asserts("SEM-127");
  EXPECT_THAT(refusal<UnsupportedError>([](ReplicaContext& replica) {
                reduce_scatter_vjp(replica, ReduceOp::kMax, std::vector{1.0}, Axis(0));
              }),
              HasSubstr("exchange_test.cpp:"));
}

TEST_F(Exchange, ReportsTheVerbsThatReplicasWaitIn) {
  const auto text = refusal<MergeMismatchError>([](ReplicaContext& replica) {
    replica.replica_id() == 1 ? replica.all_to_all(List(3)) : replica.all_gather(List(3));
  });
  EXPECT_THAT(text, HasSubstr("all_to_all"));
  EXPECT_THAT(text, HasSubstr("all_gather"));
}

TEST_F(Exchange, SumsOfIntegersThatLeaveTheirTypeAreErrors) {
  testing::asserts("SEM-157");
  MirroredStrategy strict{backend_, {.report_overflow = true}};
  EXPECT_THROW(strict.run([](ReplicaContext& replica) {
    replica.reduce_scatter(ReduceOp::kSum, std::vector<std::int8_t>(3, 100), Axis(0));
  }),
               InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::exchange_test
