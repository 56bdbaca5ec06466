// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Groups of replicas with members on several of the three hosts of hosts.h: values, order,
// processes without members, and reports. Outcomes are worked out by hand; random programs of
// groups over processes are in suites/group_props.cpp.
#include "belfry/belfry.h"
#include "belfry/group_context.h"
#include "belfry/replica_groups.h"
#include "belfry/sim/cluster.h"
#include "belfry/testing/asserts.h"
#include "processes/counting_group.h"
#include "processes/hosts.h"
#include "processes/listeners.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::groups_over_processes {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lists = std::vector<std::vector<int>>;

constexpr CallSite kLeft{"train.cc", 11};
constexpr CallSite kRight{"train.cc", 22};

// The groups 0 and 3, 1 and 2, 4 and 5: the last is within host 2.
const Lists kPairs = {{0, 3}, {1, 2}, {4, 5}};

const auto kLast = [](CrossReplicaContext&, const PerReplica<int>& ids) {
  return *(ids.end() - 1);
};

std::vector<float> list_of(const Tensor<float>& tensor) { return tensor.to_host(); }

TEST(GroupsOverProcesses, MeetWithEveryVerb) {
  testing::asserts("SEM-288");
  using Row = std::vector<float>;
  const auto rows = on_replicas([](ReplicaContext& replica) {
    const auto group = replica.in(replica.strategy().groups(kPairs));
    const float own = static_cast<float>(value_of(replica));  // 1 to 6.
    const auto tensor = Tensor<float>::from({2}, Row{own, 10 * own});
    Row row{group.all_reduce(ReduceOp::kMean, own)};
    const auto add = [&row](const Row& more) { row.insert(row.end(), more.begin(), more.end()); };
    add(list_of(group.all_reduce(ReduceOp::kSum, tensor)));
    add(list_of(group.all_gather(tensor)));
    add(list_of(group.reduce_scatter(ReduceOp::kMax, tensor, Axis(0))));
    add(group.all_to_all(Row{own, 100 * own}));
    add({group.broadcast(own, 1)});
    add({group.permute(own, {{1, 0}}).value_or(0), group.scatter_from(Row{own, -own}, 0)});
    const auto joined = group.gather_to(tensor, 1);
    add({joined ? list_of(*joined)[0] : 0});
    // The lowest member of a process is called with the members of the process.
    add({group.merge_call(
        [](CrossReplicaContext& cross, const PerReplica<float>& values) {
          const int here = values.present().id(0);
          return cross.reduce(ReduceOp::kSum, values)[here] +
                 cross.broadcast(*values.begin())[here];
        },
        own)});
    return row;
  });
  // Members with the values a < b: mean; sums; rows; the part of the greatest; parts of both; the
  // second value; b for the first; the part of the first; its row, for the second; a + b and a.
  const auto of = [](float a, float b, bool is_first) {
    return Row{(a + b) / 2,
               a + b,
               10 * (a + b),
               a,
               10 * a,
               b,
               10 * b,
               is_first ? b : 10 * b,
               is_first ? a : 100 * a,
               is_first ? b : 100 * b,
               b,
               is_first ? b : 0,
               is_first ? a : -a,
               is_first ? 0 : a,
               a + b + a};
  };
  EXPECT_THAT(rows, ElementsAre(of(1, 4, true), of(2, 3, true), of(2, 3, false), of(1, 4, false),
                                of(5, 6, true), of(5, 6, false)));
}

// A group within a host makes merges of its own between those of the others; the numbers of merges
// differ, and the merge of all replicas waits for all.
TEST(GroupsOverProcesses, HaveRoundsOfTheirOwn) {
  testing::asserts("SEM-288");
  const std::vector<int> rounds = {2, 5, 3};
  const auto sums = on_replicas([&](ReplicaContext& replica) {
    const auto group = replica.in(replica.strategy().groups(kPairs));
    int sum = 0;
    for (int round = 0; round < rounds[static_cast<std::size_t>(group.group())]; ++round) {
      sum += group.all_reduce(ReduceOp::kSum, replica.replica_id());
    }
    return 100 * replica.all_reduce(ReduceOp::kSum, 1) + sum;
  });
  // 600, and the sum of the ids in each round: 2 * 3, 5 * 3 and 3 * 9.
  EXPECT_THAT(sums, ElementsAre(606, 615, 615, 606, 627, 627));
}

// The exchanges of a run with five merges of each group, without values.
int exchanges_of(const Lists& lists) {
  int exchanges = 0;
  sim::Cluster cluster{{.devices_of = {2, 1, 3}}};
  cluster.run([&](sim::Host& host) {
    CountingGroup group(host.group());
    MultiWorkerMirroredStrategy strategy{host.backend(), group};
    const ReplicaGroups groups = strategy.groups(lists);
    const int before = group.exchanges;
    strategy.run([&](ReplicaContext& replica) {
      if (groups.group_of(replica.replica_id()) < 0) return;
      for (int round = 0; round < 5; ++round) {
        replica.in(groups).merge_call([](CrossReplicaContext&) {});
      }
    });
    exchanges = group.exchanges - before;
  });
  return exchanges;
}

// Beside the exchange at the end of the run.
TEST(GroupsOverProcesses, MakeFewExchanges) {
  testing::asserts("SEM-288");
  EXPECT_EQ(exchanges_of({{0, 1}, {3, 4, 5}}), 1);  // Within a process: none.
  EXPECT_EQ(exchanges_of({{0, 2, 3}}), 6);          // A member in each process: one a round.
  EXPECT_EQ(exchanges_of({{0, 3}, {1, 2, 4}}), 1 + 5 * (1 + 1));  // Host 1 listens to the first.
  EXPECT_EQ(exchanges_of({{0, 3}}), 1 + 5 * (2 + 1));  // All replicas of host 1 have returned.
}

TEST(GroupsOverProcesses, MergeInOneOrder) {
  testing::asserts("SEM-288");
  std::vector<std::vector<int>> order(3);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    std::vector<int>& own = order[static_cast<std::size_t>(host.group().rank())];
    const ReplicaGroups groups = strategy.groups({{2, 3}, {1, 5}, {0, 4}});
    strategy.run([&](ReplicaContext& replica) {
      const auto group = replica.in(groups);
      for (int round = 0; round <= group.group(); ++round) {
        group.merge_call([&](CrossReplicaContext&,
                             const PerReplica<int>& numbers) { own.push_back(*numbers.begin()); },
                         group.group());
      }
    });
  });
  // The lowest members are 0, 1 and 2: groups 2, 1 and 0; then 2 and 1; then 2.
  EXPECT_THAT(order, ElementsAre(ElementsAre(2, 1, 2, 1, 2), ElementsAre(0),
                                 ElementsAre(2, 1, 0, 2, 1, 2)));
}

// Host 1 has no member.
TEST(GroupsOverProcesses, ProcessesWithoutMembersListen) {
  testing::asserts("SEM-289");
  std::vector<int> calls(3);
  std::vector<double> seen(6);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto sum = strategy.replica_local_variable(ReduceOp::kSum, 0.0);
    const ReplicaGroups groups = strategy.groups({{0, 1, 4}});
    const auto own = strategy.run([&](ReplicaContext& replica) {
      replica.assign(sum, value_of(replica));
      if (groups.group_of(replica.replica_id()) < 0) return 0.0;
      return replica.in(groups).merge_call([&](CrossReplicaContext& cross) {
        ++calls[static_cast<std::size_t>(host.group().rank())];
        const int rank = host.group().rank();
        return 100 * cross.fetch(sum) + cross.broadcast(10.0 + rank)[rank == 0 ? 0 : 4];
      });
    });
    for (int id = 0; id < 6; ++id) {
      if (own.has(id)) seen[static_cast<std::size_t>(id)] = own[id];
    }
  });
  EXPECT_THAT(calls, ElementsAre(1, 0, 1));
  // 1 to 6 of all replicas, and the value of host 0.
  EXPECT_THAT(seen, ElementsAre(2110, 2110, 0, 0, 2110, 0));
}

// Replicas 1 and 3 take no part in the run, nor does host 1.
TEST(GroupsOverProcesses, DoNotWaitForAbsentMembers) {
  testing::asserts("SEM-288");
  std::vector<double> seen(6);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    std::vector<std::optional<double>> values(6);
    for (const int id : {0, 4, 5}) values[static_cast<std::size_t>(id)] = 1.0 + id;
    const ReplicaGroups groups = strategy.groups({{0, 1, 4}, {2, 5}, {3}});
    const auto own = strategy.run(
        [&](ReplicaContext& replica, double value) {
          const double all = replica.in(groups).all_reduce(ReduceOp::kSum, value);
          return all + 100 * replica.all_reduce(ReduceOp::kSum, 1.0);
        },
        PerReplica<double>::from(std::move(values)));
    for (const int id : {0, 4, 5}) {
      if (own.has(id)) seen[static_cast<std::size_t>(id)] = own[id];
    }
  });
  EXPECT_THAT(seen, ElementsAre(306, 0, 0, 0, 306, 306));  // 1 + 5; 6 alone; three replicas.
}

// Kinds of merges and functions come in another order on host 2 than on host 0.
TEST(GroupsOverProcesses, CompareMergesWithinAGroup) {
  testing::asserts("SEM-288");
  const Lists lists = {{0, 4}, {1, 3}, {2}, {5}};
  const auto is_first = [](int id) { return id == 0 || id == 4; };
  const auto sums = on_replicas([&](ReplicaContext& replica) {
    const auto group = replica.in(replica.strategy().groups(lists));
    return is_first(replica.replica_id()) ? group.all_reduce(ReduceOp::kSum, replica.replica_id())
                                          : group.merge_call(kLast, replica.replica_id());
  });
  EXPECT_THAT(sums, ElementsAre(4, 1, 2, 3, 4, 5));  // Each process has members of its own.
  using Function = int (*)(CrossReplicaContext&, const PerReplica<int>&);
  const Function one = [](CrossReplicaContext&, const PerReplica<int>&) { return 1; };
  const Function two = [](CrossReplicaContext&, const PerReplica<int>&) { return 2; };
  const auto numbers = on_replicas([&](ReplicaContext& replica) {
    const auto group = replica.in(replica.strategy().groups(lists));
    return group.merge_call(is_first(replica.replica_id()) ? one : two, 0);
  });
  EXPECT_THAT(numbers, ElementsAre(1, 2, 2, 2, 1, 2));
}

// In each process some replica waits in the group while others make a variable.
TEST(GroupsOverProcesses, ReplicasMakeVariablesAfterGroups) {
  testing::asserts("SEM-288");
  const auto sums = on_replicas([](ReplicaContext& replica) {
    const ReplicaGroups groups = replica.strategy().groups({{1, 2, 3}});
    double sum = 0;
    if (groups.group_of(replica.replica_id()) == 0) {
      sum = replica.in(groups).all_reduce(ReduceOp::kSum, value_of(replica));
    }
    const auto made = replica.strategy().mirrored_variable(100.0);
    return sum + made.on(replica);
  });
  EXPECT_THAT(sums, ElementsAre(100, 109, 109, 109, 100, 100));
}

// The other processes would not count the variable: later variables would have other numbers.
TEST(GroupsOverProcesses, MakeNoVariableWithinAProcess) {
  testing::asserts("SEM-288");
  std::vector<std::string> texts(3);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const int rank = host.group().rank();
    const ReplicaGroups groups = strategy.groups({{3, 5}});
    const auto run = [&] {
      strategy.run([&](ReplicaContext& replica) {
        if (groups.group_of(replica.replica_id()) < 0) return;
        replica.in(groups).merge_call([](CrossReplicaContext& cross) {
          (void)cross.strategy().mirrored_variable(1, {.name = "w"}, kLeft);
        });
      });
    };
    texts[static_cast<std::size_t>(rank)] =
        rank == 2 ? text_of_error<UnsupportedError>(run) : text_of_error<PeerFailedError>(run);
  });
  EXPECT_THAT(texts, Each(HasSubstr("making a variable in a merge of group {3, 5}")));
}

// Every process has the same report, about the replicas of `about` alone.
void expect_reports(const std::vector<std::string>& texts, const std::vector<int>& about,
                    const std::vector<std::string>& parts) {
  for (const std::string& text : texts) {
    EXPECT_EQ(text, texts.front());
    for (const std::string& part : parts) EXPECT_THAT(text, HasSubstr(part));
    for (int id = 0; id < 6; ++id) {
      const bool is_named = std::ranges::count(about, id) > 0;
      const std::string line = ", replica " + std::to_string(id) + "  ";
      EXPECT_EQ(text.find(line) != std::string::npos, is_named) << id << " in " << text;
    }
  }
}

TEST(GroupsOverProcesses, ReportAMemberThatStaysAway) {
  testing::asserts("SEM-275", "SEM-288");
  const auto texts = texts_of_host_run<MergeMismatchError>([](ReplicaContext& replica) {
    const auto group = replica.in(replica.strategy().groups(kPairs));
    for (int round = replica.replica_id() == 3 ? 1 : 0; round < 3; ++round) {
      group.all_reduce(ReduceOp::kSum, 1, kLeft);
    }
  });
  expect_reports(texts, {0, 3},
                 {"BF-010", "group {0, 3}", "train.cc:11", "returned after merge #2"});
}

// Replica 0 is on host 0, and replica 2 on host 1.
TEST(GroupsOverProcesses, ReportOppositeOrders) {
  testing::asserts("SEM-275", "SEM-288");
  const auto texts = texts_of_host_run<MergeMismatchError>([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    const ReplicaGroups two = replica.strategy().groups({{0, 2}, {1, 3}, {4, 5}});
    const ReplicaGroups three = replica.strategy().groups({{0, 2, 5}, {1, 3, 4}});
    if (id == 2) replica.in(three).all_reduce(ReduceOp::kSum, 1, kRight);
    replica.in(two).all_reduce(ReduceOp::kSum, 1, kLeft);
    if (id != 2) replica.in(three).all_reduce(ReduceOp::kSum, 1, kRight);
  });
  expect_reports(texts, {0, 2},
                 {"BF-011", "replica 0 waits for 2, 2 waits for 0", "train.cc:11", "train.cc:22",
                  "use the groups in the same order"});
}

TEST(GroupsOverProcesses, ReportDescriptionsThatDiffer) {
  testing::asserts("SEM-275", "SEM-288");
  const auto texts = texts_on_hosts<MergeMismatchError>(
      [](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
        const bool is_odd = host.group().rank() == 1;
        const ReplicaGroups groups =
            strategy.groups(is_odd ? Lists{{0, 2, 3}, {1, 4, 5}} : Lists{{0, 2}, {1, 3, 4, 5}});
        strategy.run([&](ReplicaContext& replica) {
          replica.in(groups).all_reduce(ReduceOp::kSum, 1, kLeft);
        });
      });
  expect_reports(
      texts, {0, 2},
      {"BF-011", "replicas describe their group differently", "group {0, 2}", "group {0, 2, 3}"});
}

TEST(GroupsOverProcesses, ReportMergesThatDiffer) {
  testing::asserts("SEM-275", "SEM-288");
  const auto texts = texts_of_host_run<MergeMismatchError>([](ReplicaContext& replica) {
    const auto group = replica.in(replica.strategy().groups(kPairs));
    if (replica.replica_id() == 3) group.all_gather(std::vector{1}, Axis(0), kRight);
    group.all_reduce(ReduceOp::kSum, 1, kLeft);
  });
  expect_reports(texts, {0, 3}, {"BF-012", "group {0, 3}", "all_gather", "all_reduce"});
}

// Host `thrower` fails in a merge of replicas 0, 2 and 3, or host 2 in one of its replicas.
TEST(GroupsOverProcesses, AFailureReachesEveryProcess) {
  testing::asserts("SEM-289");
  for (const int thrower : {0, 1, 2, 4, 5}) {
    std::vector<std::string> texts(3);
    on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
      const int rank = host.group().rank();
      const ReplicaGroups groups = strategy.groups({{0, 2, 3}, {1, 4}});
      const auto run = [&] {
        strategy.run([&](ReplicaContext& replica) {
          if (replica.replica_id() == thrower && thrower >= 3) throw std::runtime_error("no row");
          if (groups.group_of(replica.replica_id()) < 0) return;
          replica.in(groups).merge_call(
              [&](CrossReplicaContext& cross, const PerReplica<int>& xs) {
                if (rank == thrower && xs.has(rank == 2 ? 3 : 2 * rank)) {
                  throw std::runtime_error("no row");
                }
                cross.reduce(ReduceOp::kSum, xs);
              },
              1);
        });
      };
      const bool is_own = rank == (thrower < 3 ? thrower : 2);
      texts[static_cast<std::size_t>(rank)] =
          is_own ? text_of_error<std::runtime_error>(run) : text_of_error<PeerFailedError>(run);
    });
    EXPECT_THAT(texts, Each(HasSubstr("no row"))) << thrower;
  }
}

// A host stops at each of its calls of the group. The other hosts end, with an error unless all
// calls were over.
TEST(GroupsOverProcesses, ALostProcessEndsTheOthers) {
  testing::asserts("SEM-289");
  for (int host_that_stops = 0; host_that_stops < 3; ++host_that_stops) {
    int errors = 0;
    int returned = 0;
    for (int call = 1; returned < 3; ++call) {
      ASSERT_LT(call, 40);
      returned = 0;
      sim::Cluster cluster{{.devices_of = {2, 1, 3},
                            .seed = 7,
                            .faults = {{.host = host_that_stops, .call = call}}}};
      const auto body = [&](sim::Host& host) {
        try {
          MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
          const ReplicaGroups groups = strategy.groups({{0, 3}, {1, 4}});
          strategy.run([&](ReplicaContext& replica) {
            if (groups.group_of(replica.replica_id()) < 0) return 0;
            return replica.in(groups).all_reduce(ReduceOp::kSum, 1);
          });
          ++returned;
        } catch (const Error& error) {
          const bool is_lost = error.code() == ErrorCode::kProcessLost;
          EXPECT_TRUE(is_lost || error.code() == ErrorCode::kPeerFailed) << error.what();
          ++errors;
        }
      };
      try {
        cluster.run(body);
      } catch (const ProcessLostError&) {
      }
    }
    // At least the rounds and the two merges, to which host 1 listens.
    EXPECT_GE(errors, 2 * 4) << host_that_stops;
  }
}

}  // namespace
}  // namespace belfry::testing::groups_over_processes
