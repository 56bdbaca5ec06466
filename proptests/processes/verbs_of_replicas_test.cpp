// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Each verb of a replica over three hosts: docs/processes.md#verbs. Outcomes are worked out by
// hand.
#include "belfry/belfry.h"
#include "belfry/cross_device_ops.h"
#include "belfry/current.h"
#include "belfry/indexed_slices.h"
#include "belfry/launch.h"
#include "belfry/scatter.h"
#include "belfry/testing/asserts.h"
#include "belfry/vjp.h"
#include "processes/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::verbs_of_replicas {

/// Digits of decimal numbers. The sum has the digits of the left operand, and then those of the
/// right operand: the order of the operands shows.
struct Digits {
  int number = 0;
};

}  // namespace belfry::testing::verbs_of_replicas

template <>
struct belfry::ElementTraits<belfry::testing::verbs_of_replicas::Digits> {
  using Digits = belfry::testing::verbs_of_replicas::Digits;
  static Digits zero() { return {}; }
  static Digits add(const Digits& left, const Digits& right) {
    return {10 * left.number + right.number};
  }
  static std::string text(const Digits& digits) { return std::to_string(digits.number); }
};

namespace belfry::testing::verbs_of_replicas {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Largest {
  double combine(double folded, double next) const { return std::max(folded, next); }
  double finalize(double folded, int replicas) const { return folded + 100.0 * replicas; }
};

// A slice of row r with the value r + 1, of a table of six rows.
IndexedSlices<float> slice_of(const ReplicaContext& replica) {
  return indexed_slices(Tensor<float>::full({1, 1}, float(value_of(replica))),
                        Tensor<std::int64_t>::full({1}, replica.replica_id()), Shape{6, 1});
}

TEST(ReplicaVerbs, MergeCall) {
  testing::asserts("SEM-153");
  std::vector<std::vector<double>> seen(3);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto rank = static_cast<std::size_t>(host.group().rank());
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      return replica.merge_call(
          [&seen, rank](CrossReplicaContext& cross, const PerReplica<double>& all) {
            seen[rank].insert(seen[rank].end(), all.begin(), all.end());
            return cross.reduce(ReduceOp::kSum, all);
          },
          value_of(replica));
    });
    EXPECT_THAT(elements_of(sums), Each(21.0));
  });
  // Once in each process, with the values of its replicas.
  EXPECT_THAT(seen, ElementsAre(ElementsAre(1, 2), ElementsAre(3), ElementsAre(4, 5, 6)));
}

TEST(ReplicaVerbs, AllReduce) {
  testing::asserts("SEM-153");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                return replica.all_reduce(ReduceOp::kMean, value_of(replica));
              }),
              Each(3.5));
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const auto own = Tensor<std::int32_t>::full({2}, replica.replica_id());
                return replica.all_reduce(ReduceOp::kSum, own).to_host();
              }),
              Each(ElementsAre(15, 15)));
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                return replica.all_reduce(MergeTag{"named"}, ReduceOp::kSum, value_of(replica));
              }),
              Each(21.0));
}

TEST(ReplicaVerbs, AllReduceByAReductionOfTheProgram) {
  testing::asserts("SEM-153");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                return replica.all_reduce(Largest{}, value_of(replica));
              }),
              Each(606.0));  // 6, and 100 for each of six replicas.
}

TEST(ReplicaVerbs, AllGather) {
  testing::asserts("SEM-153");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                return replica.all_gather(std::vector<double>{value_of(replica)});
              }),
              Each(ElementsAre(1, 2, 3, 4, 5, 6)));
  EXPECT_THAT(
      on_replicas([](ReplicaContext& replica) {
        // No rows of the even replicas.
        const std::int64_t rows = replica.replica_id() % 2;
        return replica.all_gather(Tensor<double>::full({rows, 1}, value_of(replica))).to_host();
      }),
      Each(ElementsAre(2, 4, 6)));
}

TEST(ReplicaVerbs, AssignMirrored) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto sum = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
    const auto values = strategy.run([&](ReplicaContext& replica) {
      replica.assign_add(sum, value_of(replica));  // 1 + 21.
      const double added = sum.on(replica);
      replica.assign_sub(sum, 1.0);  // 22 - 6.
      const double reduced = sum.on(replica);
      replica.assign(sum, value_of(replica));
      return std::vector{added, reduced, sum.on(replica)};
    });
    EXPECT_THAT(elements_of(values), Each(ElementsAre(22, 16, 21)));
  });
}

TEST(ReplicaVerbs, AssignReplicaLocal) {
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto local = strategy.replica_local_variable(ReduceOp::kSum, 10.0);
    // Replica 3 alone makes the call.
    strategy.run([&](ReplicaContext& replica) {
      if (replica.replica_id() == 3) replica.assign_sub(local, 4.0);
    });
    EXPECT_EQ(elements_of(strategy.local_values(local)),
              part_of(host.group().rank(), std::vector{10.0, 10.0, 10.0, 6.0, 10.0, 10.0}));
  });
}

TEST(ReplicaVerbs, OnAComponent) {
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto local = strategy.replica_local_variable(ReduceOp::kSum, 0);
    strategy.run([&](ReplicaContext& replica) {
      if (replica.replica_id() == 2) local.on(replica) = 7;
    });
    EXPECT_EQ(strategy.read(local), 7);
  });
}

TEST(ReplicaVerbs, AllReduceSlices) {
  testing::asserts("SEM-153");
  EXPECT_THAT(
      on_replicas([](ReplicaContext& replica) {
        return to_dense(all_reduce_slices(replica, ReduceOp::kSum, slice_of(replica))).to_host();
      }),
      Each(ElementsAre(1, 2, 3, 4, 5, 6)));
}

TEST(ReplicaVerbs, Scatter) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto table = strategy.mirrored_variable([] { return Tensor<float>::full({6, 1}, 10); },
                                                  {.aggregation = Aggregation::kSum});
    strategy.run([&](ReplicaContext& replica) {
      scatter(replica, ScatterOp::kSubtract, table, slice_of(replica));
    });
    EXPECT_THAT(strategy.read(table).to_host(), ElementsAre(9, 8, 7, 6, 5, 4));
  });
}

// Replica 0 is in process 0; the slices of other processes change nothing.
TEST(ReplicaVerbs, ScatterTheSlicesOfTheFirstReplica) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto table = strategy.mirrored_variable([] { return Tensor<float>::full({6, 1}, 10); },
                                                  {.aggregation = Aggregation::kOnlyFirst});
    strategy.run([&](ReplicaContext& replica) {
      scatter(replica, ScatterOp::kSubtract, table, slice_of(replica));
    });
    EXPECT_THAT(strategy.read(table).to_host(), ElementsAre(9, 10, 10, 10, 10, 10));
  });
}

TEST(ReplicaVerbs, AllReduceVjp) {
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                return all_reduce_vjp(replica, ReduceOp::kMean, value_of(replica));
              }),
              Each(3.5));
}

TEST(ReplicaVerbs, AllGatherVjp) {
  // Replica r brings 1 or 2 elements; the rows of the gathered list begin at 0, 1, 3, 4, 6, 7. Each
  // replica has the cotangent 0, 1, ..., 8, and the sum is six times as much.
  EXPECT_THAT(
      on_replicas([](ReplicaContext& replica) {
        const std::vector<double> own(static_cast<std::size_t>(1 + replica.replica_id() % 2));
        return all_gather_vjp(replica, own, std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8});
      }),
      ElementsAre(ElementsAre(0), ElementsAre(6, 12), ElementsAre(18), ElementsAre(24, 30),
                  ElementsAre(36), ElementsAre(42, 48)));
}

TEST(ReplicaVerbs, AskForTheOwnPlace) {
  testing::asserts("SEM-150");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                EXPECT_EQ(&replica.strategy(), &current_strategy());
                EXPECT_EQ(current_device(), replica.device());
                EXPECT_EQ(replica.placement().device, replica.device().index);
                return std::vector{replica.replica_id(), replica.num_replicas(),
                                   replica.device().index};
              }),
              ElementsAre(ElementsAre(0, 6, 0), ElementsAre(1, 6, 1), ElementsAre(2, 6, 0),
                          ElementsAre(3, 6, 0), ElementsAre(4, 6, 1), ElementsAre(5, 6, 2)));
}

TEST(ReplicaVerbs, ReduceScatter) {
  testing::asserts("SEM-261");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                // Rows 0 to 6, each times the id: sums of 15 times the row. Replica 0 has two rows.
                const int id = replica.replica_id();
                const auto own = Tensor<std::int32_t>::from(
                    {7, 1}, {0, id, 2 * id, 3 * id, 4 * id, 5 * id, 6 * id});
                auto part = replica.reduce_scatter(ReduceOp::kSum, own, Axis(0)).to_host();
                const auto list = replica.reduce_scatter(ReduceOp::kMean,
                                                         std::vector<double>{value_of(replica), 1},
                                                         Axis(0), {0, 0, 1, 0, 1, 0});
                part.push_back(list.empty() ? -1 : static_cast<int>(2 * list[0]));
                return part;
              }),
              ElementsAre(ElementsAre(0, 15, -1), ElementsAre(30, -1), ElementsAre(45, 7),
                          ElementsAre(60, -1), ElementsAre(75, 2), ElementsAre(90, -1)));
}

TEST(ReplicaVerbs, AllToAll) {
  testing::asserts("SEM-262");
  const auto received = on_replicas([](ReplicaContext& replica) {
    std::vector<Tensor<float>> parts;
    for (int to = 0; to < 6; ++to) {  // `to` elements for replica `to`.
      parts.push_back(Tensor<float>::full({to}, static_cast<float>(value_of(replica))));
    }
    std::vector<std::vector<float>> all;
    for (const auto& part : replica.all_to_all(parts)) all.push_back(part.to_host());
    return all;
  });
  EXPECT_THAT(received[0], Each(ElementsAre()));
  EXPECT_THAT(received[2], ElementsAre(ElementsAre(1, 1), ElementsAre(2, 2), ElementsAre(3, 3),
                                       ElementsAre(4, 4), ElementsAre(5, 5), ElementsAre(6, 6)));
  EXPECT_THAT(received[5][3], ElementsAre(4, 4, 4, 4, 4));
}

TEST(ReplicaVerbs, Broadcast) {
  testing::asserts("SEM-263");
  for (const int root : {0, 2, 4}) {
    EXPECT_THAT(on_replicas([root](ReplicaContext& replica) {
                  const auto own = Tensor<double>::full({1}, value_of(replica));
                  return std::pair(replica.broadcast(own, root).item(),
                                   replica.broadcast(std::to_string(replica.replica_id()), root));
                }),
                Each(std::pair(1.0 + root, std::to_string(root))));
  }
}

TEST(ReplicaVerbs, Permute) {
  testing::asserts("SEM-264");
  EXPECT_THAT(
      on_replicas([](ReplicaContext& replica) {
        return replica.permute(value_of(replica), {{5, 0}, {0, 1}, {0, 3}, {4, 4}}).value_or(-1);
      }),
      ElementsAre(6, 1, -1, 1, 5, -1));
}

TEST(ReplicaVerbs, ScatterFrom) {
  testing::asserts("SEM-265");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const bool is_root = replica.replica_id() == 3;
                std::vector<int> parts = {10, 11, 12, 13, 14, 15};
                const int part = replica.scatter_from(is_root ? parts : std::vector<int>(), 3);
                const auto rows = replica.scatter_from(
                    Tensor<std::int32_t>::from({6}, parts) * (is_root ? 2 : 1), Axis(0), 3);
                return part + 100 * rows.item();
              }),
              ElementsAre(2010, 2211, 2412, 2613, 2814, 3015));
}

TEST(ReplicaVerbs, GatherTo) {
  testing::asserts("SEM-266");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const std::int64_t rows = replica.replica_id() % 2;
                const auto own = Tensor<double>::full({rows}, value_of(replica));
                const auto joined = replica.gather_to(own, 2);
                return joined ? joined->to_host() : std::vector<double>{-1};
              }),
              ElementsAre(ElementsAre(-1), ElementsAre(-1), ElementsAre(2, 4, 6), ElementsAre(-1),
                          ElementsAre(-1), ElementsAre(-1)));
}

TEST(ReplicaVerbs, ReduceScatterVjp) {
  testing::asserts("SEM-127");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const std::vector<double> own(replica.replica_id() == 0 ? 2 : 1, value_of(replica));
                auto joined = reduce_scatter_vjp(replica, ReduceOp::kSum, own, Axis(0));
                joined.push_back(reduce_scatter_vjp(replica, ReduceOp::kMean, own, Axis(0))[6]);
                return joined;
              }),
              Each(ElementsAre(1, 1, 2, 3, 4, 5, 6, 1)));
}

TEST(ReplicaVerbs, AllToAllVjp) {
  testing::asserts("SEM-127");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                return all_to_all_vjp(replica, std::vector<double>(6, value_of(replica)));
              }),
              Each(ElementsAre(1, 2, 3, 4, 5, 6)));
}

TEST(ReplicaVerbs, PermuteVjp) {
  testing::asserts("SEM-127");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const std::vector<std::pair<int, int>> pairs = {{5, 0}, {0, 3}};
                const auto got = replica.permute(value_of(replica), pairs);
                const auto cotangent = got ? std::optional(10 * value_of(replica)) : std::nullopt;
                return permute_vjp(replica, cotangent, pairs).value_or(-1);
              }),
              ElementsAre(40, -1, -1, -1, -1, 10));
  // Replica 5 sent to 0, 3 and 4: 10 (1 + 4 + 5).
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const std::vector<std::pair<int, int>> pairs = {{5, 4}, {5, 0}, {0, 2}, {5, 3}};
                const auto got = replica.permute(value_of(replica), pairs);
                const auto cotangent = got ? std::optional(10 * value_of(replica)) : std::nullopt;
                return permute_vjp(replica, cotangent, pairs).value_or(-1);
              }),
              ElementsAre(30, -1, -1, -1, -1, 100));
}

// The same error on every host, with the lines of all replicas.
TEST(ReplicaVerbs, RefuseExchangesThatDiffer) {
  testing::asserts("SEM-267");
  const auto roots = texts_of_host_run<StructureMismatchError>(
      [](ReplicaContext& replica) { replica.broadcast(1, replica.replica_id() == 5 ? 3 : 0); });
  EXPECT_THAT(roots, Each(HasSubstr("replicas differ in the root of one broadcast")));
  EXPECT_THAT(roots, Each(HasSubstr("names root 3")));
  const auto missing = texts_of_host_run<InvalidArgumentError>(
      [](ReplicaContext& replica) { replica.gather_to(std::vector<int>(1), 6); });
  EXPECT_THAT(missing, Each(HasSubstr("gather_to names root 6, which does not exist")));
  const auto shapes = texts_of_host_run<StructureMismatchError>([](ReplicaContext& replica) {
    replica.gather_to(Tensor<float>::full({1, replica.replica_id() == 5 ? 2 : 1}, 0), 0);
  });
  EXPECT_THAT(shapes, Each(HasSubstr("brings shape [1,2]")));
}

struct Doubled {
  void on_host(std::span<float> y) const {
    for (float& element : y) element *= 2;
  }
};

TEST(ReplicaVerbs, LaunchAKernelOfTheProgram) {
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                auto own = Tensor<float>::full({2}, float(value_of(replica)));
                if (replica.replica_id() == 2) launch(Doubled{}, updates(own));
                return own.to_host();
              }),
              ElementsAre(ElementsAre(1, 1), ElementsAre(2, 2), ElementsAre(6, 6),
                          ElementsAre(4, 4), ElementsAre(5, 5), ElementsAre(6, 6)));
}

TEST(ReplicaVerbs, ReduceInPacks) {
  const auto packed = in_packs(std::make_shared<ReductionToOneDevice>());
  on_hosts(
      [](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
        const auto sums = strategy.run([](ReplicaContext& replica) {
          const auto id = static_cast<float>(replica.replica_id());
          const auto sum = replica.all_reduce(
              ReduceOp::kSum,
              std::vector{Tensor<float>::full({3}, id), Tensor<float>::full({1}, id * id)});
          return std::vector{sum[0].to_host()[2], sum[1].item()};
        });
        EXPECT_THAT(elements_of(sums), Each(ElementsAre(15, 55)));  // 0 + 1 + 4 + ... + 25.
      },
      {.cross_device_ops = packed});
}

TEST(ReplicaVerbs, AllReduceOfTypesOfTheProgram) {
  testing::asserts("SEM-158");
  EXPECT_THAT(on_replicas([](ReplicaContext& replica) {
                const Digits own{replica.replica_id()};
                const auto sum =
                    replica.all_reduce(ReduceOp::kSum, std::pair{std::vector{own, own}, 1});
                return std::pair{sum.first[1].number, sum.second};
              }),
              Each(std::pair{12345, 6}));
}

// Three processes with replicas 0 and 1, 2, and 3 to 5.
TEST(ReplicaVerbs, MeetInGroupsOfTheirProcess) {
  testing::asserts("SEM-276");
  std::vector<std::vector<int>> seen(3);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const ReplicaGroups groups = strategy.groups({{0, 1}, {2}, {3, 5}, {4}});
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      const auto group = replica.in(groups);
      int sum = group.all_reduce(ReduceOp::kSum, replica.replica_id());
      // Groups make different numbers of merges between those of all processes.
      for (int round = 0; round < group.group(); ++round) {
        const auto one = Tensor<float>::full({1}, 1);
        sum += 10 * static_cast<int>(group.all_gather(one).to_host().size());
      }
      sum += 100 * group.merge_call(
                       [](CrossReplicaContext& cross, const PerReplica<int>& ones) {
                         return cross.reduce(ReduceOp::kSum, ones);
                       },
                       1);
      return sum + 1000 * replica.all_reduce(ReduceOp::kSum, 1);
    });
    seen[static_cast<std::size_t>(host.group().rank())].assign(sums.begin(), sums.end());
  });
  // 6000, 100 for each member, 10 for each member and the number of the group, and the ids.
  EXPECT_THAT(
      seen, ElementsAre(std::vector{6201, 6201}, std::vector{6112}, std::vector{6248, 6134, 6248}));
}

TEST(ReplicaVerbs, RefuseARunInARun) {
  testing::asserts("SEM-156");
  const auto texts = texts_on_hosts<UnsupportedError>([](auto& strategy, sim::Host&) {
    strategy.run([](ReplicaContext& replica) {
      replica.merge_call([](CrossReplicaContext& cross) { cross.run([](ReplicaContext&) {}); });
    });
  });
  EXPECT_THAT(texts, Each(HasSubstr("BF-080")));
}

}  // namespace
}  // namespace belfry::testing::verbs_of_replicas
