// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Strategies over the hosts of a simulated cluster.
#include "belfry/sim/cluster.h"

#include "belfry/belfry.h"
#include "belfry/sim/replay_token.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/each_place.h"
#include "processes/hosts.h"
#include "processes/process_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace belfry::testing {
namespace {

using sim::Cluster;
using sim::ClusterOptions;
using sim::Host;
using sim::HostFault;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Of each host in turn. The thread of the cluster goes on.
TEST(Cluster, RefusesThreadsOfThePrograms) {
  testing::asserts("SEM-186");
  for (int odd = 0; odd < 3; ++odd) {
    Cluster cluster{{.hosts = 3, .seed = 5}};
    std::vector<ErrorCode> codes;
    std::vector<double> sums;
    std::string text;
    cluster.run([&](Host& host) {
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      if (host.group().rank() == odd) {
        std::thread([&] {
          ProcessGroup& group = host.group();
          codes.push_back(code_of([&] { group.gather({}); }));
          codes.push_back(code_of([&] { group.broadcast({}, 1); }));
          codes.push_back(code_of([&] { group.barrier(); }));
          codes.push_back(code_of([&] { group.health(); }));
          codes.push_back(code_of([&] { host.yield(); }));
          codes.push_back(code_of([&] { sum_of_ones(strategy); }));
          codes.push_back(code_of([&] { strategy.mirrored_variable(1.0); }));
          codes.push_back(
              code_of([&] { MultiWorkerMirroredStrategy(host.backend(), host.group()); }));
          try {
            group.barrier();
          } catch (const ContextError& error) {
            text = error.what();
          }
        }).join();
      }
      sums.push_back(sum_of_ones(strategy));
    });
    EXPECT_EQ(codes, std::vector<ErrorCode>(8, ErrorCode::kGroupContext));
    EXPECT_THAT(text, AllOf(HasSubstr("BF-072 host " + std::to_string(odd) + " calls gather on a"),
                            HasSubstr("the thread of cluster.run")));
    EXPECT_THAT(sums, ElementsAre(3, 3, 3));
  }
}

RC_GTEST_PROP(Cluster, ComputesTheBitsOfOneStrategyWithAllReplicas, ()) {
  testing::asserts("SEM-186");
  const ProcessProgram program = any_program(1);
  Trace after;
  const PerReplica<Trace> expected = run_alone(program, &after);
  ClusterOptions options{.devices_of = program.devices, .seed = *rc::gen::arbitrary<unsigned>()};
  const auto run = [&](Cluster& cluster) {
    std::vector<Trace> traces(static_cast<std::size_t>(program.replicas()));
    cluster.run([&](Host& host) {
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group(), {.order = program.order}};
      Trace own_after;
      const PerReplica<Trace> own =
          run_program(strategy, program, program.first_value(host.group().rank()), &own_after);
      EXPECT_EQ(own_after, after);
      for (int id = 0; id < own.size(); ++id) {
        if (own.has(id)) traces[static_cast<std::size_t>(id)] = own[id];
      }
    });
    return traces;
  };
  Cluster cluster{options};
  const std::vector<Trace> traces = run(cluster);
  for (int id = 0; id < program.replicas(); ++id) {
    const Trace& found = traces[static_cast<std::size_t>(id)];
    RC_ASSERT(found == (expected.has(id) ? expected[id] : Trace()));
  }
  // The same options, and the token in place of the seed, give the same run.
  Cluster again{options};
  run(again);
  RC_ASSERT(again.hash() == cluster.hash());
  options.seed += 1;
  options.schedule = sim::Schedule::replay(cluster.replay_token());
  Cluster replayed{options};
  run(replayed);
  RC_ASSERT(replayed.hash() == cluster.hash());
  RC_ASSERT(replayed.choices() == cluster.choices());
}

TEST(Cluster, OrdersHostsByItsSchedule) {
  testing::asserts("SEM-186");
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Cluster cluster{{.hosts = 3, .seed = seed}};
    std::vector<int> order;
    cluster.run([&](Host& host) {
      host.yield();
      order.push_back(host.group().rank());
    });
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6U);  // All orders of three hosts.
}

TEST(Cluster, ThrowsTheCauseBeforeItsConsequences) {
  testing::asserts("SEM-186");
  at_each_place(3, [](int odd) {
    Cluster cluster{{.hosts = 3}};
    const std::string name = "process " + std::to_string(odd);
    const auto program = [&](Host& host) {
      try {
        if (host.group().rank() == odd) throw std::runtime_error("a broken file");
        MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      } catch (const ProcessLostError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr(name + " has left"), HasSubstr("broken file")));
        throw;
      }
    };
    EXPECT_THROW(cluster.run(program), std::runtime_error);
  });
}

// Host `odd` asks after the end of the other hosts.
TEST(Cluster, ListsTheProcessesThatHaveLeft) {
  testing::asserts("SEM-206");
  at_each_place(3, [](int odd) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Cluster cluster{{.hosts = 3, .seed = seed}};
      int ended = 0;
      std::vector<int> lost;
      cluster.run([&](Host& host) {
        while (host.group().rank() == odd && ended < 2) host.yield();
        if (host.group().rank() == odd) {
          while (host.group().health().lost.size() < 2) host.yield();
          lost = host.group().health().lost;
        }
        ++ended;
      });
      EXPECT_THAT(lost, ElementsAre(odd == 0 ? 1 : 0, odd == 2 ? 1 : 2)) << "seed " << seed;
    }
  });
}

// The steps of hosts that start and then yield `yields` times, in order.
std::vector<int> steps_of(Cluster& cluster, int yields) {
  std::vector<int> steps;
  cluster.run([&](Host& host) {
    steps.push_back(host.group().rank());
    for (int i = 0; i < yields; ++i) {
      host.yield();
      steps.push_back(host.group().rank());
    }
  });
  return steps;
}

RC_GTEST_PROP(Cluster, GivesSlowHostsATurnAfterTheStepsOfOthers, ()) {
  testing::asserts("SEM-221");
  const int hosts = *rc::gen::inRange(2, 6);
  const int slow = *rc::gen::inRange(0, hosts);
  const int times = *rc::gen::inRange(2, 20);
  const int yields = *rc::gen::inRange(1, 50);
  ClusterOptions options{.hosts = hosts, .seed = *rc::gen::arbitrary<unsigned>()};
  options.faults = {{.kind = HostFault::Kind::kSlow, .host = slow, .times = times}};
  Cluster cluster{options};
  const std::vector<int> steps = steps_of(cluster, yields);
  RC_ASSERT(steps.size() == static_cast<std::size_t>(hosts * (yields + 1)));
  // Others can go on until they have made all their steps.
  int others = (hosts - 1) * (yields + 1);
  int passed = 0;
  for (const int host : steps) {
    if (host != slow) {
      --others;
      ++passed;
      continue;
    }
    RC_ASSERT(others == 0 || passed >= times - 1);
    passed = 0;
  }
  options.seed += 1;
  options.schedule = sim::Schedule::replay(cluster.replay_token());
  Cluster replayed{options};
  RC_ASSERT(steps_of(replayed, yields) == steps);
}

TEST(Cluster, LetsASlowHostArriveLast) {
  testing::asserts("SEM-221");
  std::set<int> last_before;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Cluster cluster{
        {.hosts = 3,
         .seed = seed,
         .faults = {{.kind = HostFault::Kind::kSlow, .host = 1, .call = 3, .times = 100}}}};
    std::vector<std::vector<int>> arrivals(5);
    cluster.run([&](Host& host) {
      for (std::vector<int>& order : arrivals) {
        host.yield();
        order.push_back(host.group().rank());
        host.group().barrier();
      }
    });
    last_before.insert(arrivals[0].back());
    // The first two calls are no slower. Later, host 1 comes when both others wait.
    for (std::size_t call = 2; call < 5; ++call) EXPECT_EQ(arrivals[call].back(), 1) << seed;
  }
  EXPECT_EQ(last_before, (std::set<int>{0, 1, 2}));
}

TEST(Cluster, EndsIfHostsWaitForASlowHost) {
  testing::asserts("SEM-221");
  Cluster cluster{{.hosts = 3,
                   .faults = {{.kind = HostFault::Kind::kSlow, .host = 0, .times = 50},
                              {.kind = HostFault::Kind::kSlow, .host = 2, .times = 3}}}};
  bool done = false;
  int sums = 0;
  cluster.run([&](Host& host) {
    if (host.group().rank() == 0) done = true;
    while (!done) host.yield();
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    sums += sum_of_ones(strategy);
  });
  EXPECT_EQ(sums, 9);  // Three hosts, with the sum of three ones each.
}

TEST(Cluster, StartsEachRunAnew) {
  testing::asserts("SEM-186");
  Cluster cluster{{.hosts = 2, .devices = 2, .seed = 3}};
  std::vector<std::uint64_t> hashes;
  for (int run = 0; run < 2; ++run) {
    cluster.run([&](Host& host) {
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      EXPECT_EQ(sum_of_ones(strategy), 4);
      EXPECT_TRUE(host.environment().empty());
      host.environment()["RANK"] = "7";
    });
    hashes.push_back(cluster.hash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(Cluster, HasOneLogOfHostsAndBackends) {
  testing::asserts("SEM-222");
  Cluster cluster{{.hosts = 2, .seed = 4}};
  std::vector<int> order;
  cluster.run([&](Host& host) {
    const int rank = host.group().rank();
    for (int i = 0; i < 5; ++i) {
      host.yield();
      order.push_back(rank);
    }
    MirroredStrategy strategy{host.backend()};
    sum_of_ones(strategy);
  });
  const sim::ClusterLog& log = cluster.log();
  std::vector<int> yields;
  for (const sim::LogRecord& record : log.hosts().records()) {
    if (record.kind == OperationKind::kResume) yields.push_back(record.agent_index);
  }
  EXPECT_EQ(yields, order);
  // A start, five yields and an end of each host.
  EXPECT_EQ(log.hosts().size(), 14U);
  EXPECT_GT(log.backend(0).size(), 0U);
  EXPECT_EQ(log.backend(0).hash(), log.backend(1).hash());
  EXPECT_EQ(log.size(), 14U + log.backend(0).size() + log.backend(1).size());
  EXPECT_EQ(log.turns().size(), 14U);
}

TEST(Cluster, HashesThePlaceOfAYieldAmongTheOperationsOfABackend) {
  testing::asserts("SEM-222");
  const auto hash_of = [](bool yields_first) {
    Cluster cluster{{.hosts = 1}};
    cluster.run([&](Host& host) {
      MirroredStrategy strategy{host.backend()};
      if (yields_first) host.yield();
      sum_of_ones(strategy);
      if (!yields_first) host.yield();
    });
    return cluster.hash();
  };
  EXPECT_EQ(hash_of(true), hash_of(true));
  EXPECT_NE(hash_of(true), hash_of(false));
}

TEST(Cluster, NamesItsTokenInErrors) {
  testing::asserts("SEM-186");
  const auto program = [](Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    strategy.run([&](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, 1);
      if (replica.replica_id() == 2) throw std::runtime_error("replica 2");
    });
  };
  Cluster cluster{{.hosts = 2, .devices = 2, .seed = 9}};
  std::string token;
  try {
    cluster.run([&](Host& host) {
      try {
        program(host);
      } catch (const PeerFailedError& error) {
        token = error.report().schedule->token;
        throw;
      }
    });
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "replica 2");
  }
  // The token has the choices up to the failure.
  const auto all = cluster.choices();
  const auto known = sim::decode_choices(token);
  ASSERT_LE(known.size(), all.size());
  EXPECT_GT(known.size(), 0U);
  EXPECT_TRUE(std::equal(known.begin(), known.end(), all.begin()));
}

TEST(Cluster, RefusesImpossibleOptions) {
  testing::asserts("SEM-186");
  const auto refuses = [](const ClusterOptions& options) {
    EXPECT_THROW(Cluster{options}, InvalidArgumentError);
  };
  refuses({.hosts = 0});
  refuses({.hosts = 257});
  refuses({.hosts = 2, .faults = {{.host = 2}}});
  refuses({.hosts = 2, .faults = {{.host = 1, .call = 0}}});
  refuses({.hosts = 2, .faults = {{.kind = HostFault::Kind::kCut, .host = 1, .other = 1}}});
  refuses({.hosts = 2, .faults = {{.kind = HostFault::Kind::kSlow, .times = 1}}});
  refuses({.hosts = 2, .stack_bytes = 10});
}

TEST(Cluster, PrintsItsOptions) {
  EXPECT_EQ(to_string(ClusterOptions{}), "{}");
  const ClusterOptions options{
      .hosts = 3,
      .devices_of = {2, 0, 1},
      .seed = 7,
      .faults = {{.host = 1, .call = 2},
                 {.kind = HostFault::Kind::kCut, .host = 0, .call = 4, .other = 2},
                 {.kind = HostFault::Kind::kSlow, .host = 1, .call = 3, .times = 5}}};
  EXPECT_EQ(to_string(options),
            "{.hosts = 3, .devices_of = {2, 0, 1}, .seed = 7, .faults = {{.host = 1, .call = 2}, "
            "{.kind = belfry::sim::HostFault::Kind::kCut, .host = 0, .call = 4, .other = 2}, "
            "{.kind = belfry::sim::HostFault::Kind::kSlow, .host = 1, .call = 3, .times = 5}}}");
  EXPECT_EQ(to_string(options.faults[0]), "host 1 stops at call 2");
  EXPECT_EQ(to_string(options.faults[1]), "call 4 of host 0: the link to host 2 is cut");
  EXPECT_EQ(to_string(options.faults[2]), "host 1 is 5 times as slow from call 3 on");
}

TEST(Cluster, HasUpTo256Hosts) {
  testing::asserts("SEM-186");
  Cluster cluster{{.hosts = 256}};
  int agreed = 0;
  cluster.run([&](Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    agreed += sum_of_ones(strategy) == 256 ? 1 : 0;
  });
  EXPECT_EQ(agreed, 256);
}

// A turn of a host is a choice at most, and each host has a turn in each of the 102 calls.
TEST(Cluster, KeepsTheTokenOf100ReductionsOver256Hosts) {
  testing::asserts("SEM-151");
  Cluster cluster{{.hosts = 256, .seed = 3}};
  cluster.run([&](Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    strategy.run([](ReplicaContext& replica) {
      for (int i = 0; i < 100; ++i) replica.all_reduce(ReduceOp::kSum, 1);
    });
  });
  // The arrival and the return in each call, the start and the end of the program.
  EXPECT_EQ(cluster.log().hosts().size(), 256U * (2 * 102 + 2));
  EXPECT_LE(cluster.choices().size(), 256U * 103);
  EXPECT_FALSE(cluster.replay_token().empty());
}

}  // namespace
}  // namespace belfry::testing
