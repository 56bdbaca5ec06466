// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Gathers of lists over processes: short lists go with their lengths, long lists in parts, where
// the group has parts. Replica r brings (r mod 3) times 1000 elements of the value r in long lists,
// and r mod 3 elements in short lists.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/thread_group.h"
#include "processes/forwarding_group.h"
#include "processes/hosts.h"
#include "processes/listeners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::gathered_lists {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using List = std::vector<float>;

List list_of(int replica, std::size_t length) {
  return List(static_cast<std::size_t>(replica % 3) * length, float(replica));
}

// The lists of the replicas 1, 2, 4 and 5; those of 0 and 3 are empty.
List lists_of_six(std::size_t length) {
  List all(length, 1.0F);
  all.insert(all.end(), 2 * length, 2.0F);
  all.insert(all.end(), length, 4.0F);
  all.insert(all.end(), 2 * length, 5.0F);
  return all;
}

// Six replicas: on hosts, on threads that exchange parts, and on threads that cannot.
void on_each_group(const std::function<void(Strategy&)>& body) {
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) { body(strategy); });
  for (const bool has_parts : {true, false}) {
    run_processes(3, [&](ProcessGroup& group) {
      const int devices = group.rank() == 0 ? 2 : group.rank() == 1 ? 1 : 3;
      sim::Backend backend{{.devices = devices, .seed = 7}};
      ForwardingGroup forwarding{group};
      ProcessGroup& used = has_parts ? group : forwarding;
      MultiWorkerMirroredStrategy strategy{backend, used};
      body(strategy);
    });
  }
}

TEST(GatheredLists, AreThoseOfAllReplicasInOrder) {
  testing::asserts("SEM-153");
  on_each_group([](Strategy& strategy) {
    for (const std::size_t length : {1, 1000}) {
      const auto all = strategy.run([&](ReplicaContext& replica) {
        return replica.all_gather(list_of(replica.replica_id(), length), Axis(-1));
      });
      for (const List& gathered : all) EXPECT_TRUE(gathered == lists_of_six(length)) << length;
    }
  });
}

TEST(GatheredLists, AreGatheredInMerges) {
  testing::asserts("SEM-153");
  on_each_group([](Strategy& strategy) {
    for (const std::size_t length : {1, 1000}) {
      const auto merge = [](CrossReplicaContext& cross, const PerReplica<List>& lists) {
        return cross.gather(lists);
      };
      const auto all = strategy.run([&](ReplicaContext& replica) {
        return replica.merge_call(merge, list_of(replica.replica_id(), length));
      });
      for (const List& gathered : all) EXPECT_TRUE(gathered == lists_of_six(length)) << length;
    }
  });
}

TEST(GatheredLists, LackThoseOfProcessesThatListen) {
  testing::asserts("SEM-212");
  for (int listener = 0; listener < 3; ++listener) {
    for (const std::size_t length : {1, 1000}) {
      List expected;
      for (int replica = 0; replica < 6; ++replica) {
        const List own = list_of(replica, length);
        if (process_of(replica) != listener)
          expected.insert(expected.end(), own.begin(), own.end());
      }
      on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
        const auto gather = [&](ReplicaContext& replica, double) {
          return replica.all_gather(list_of(replica.replica_id(), length));
        };
        for (const List& gathered : strategy.run(gather, values_without(listener))) {
          EXPECT_TRUE(gathered == expected) << length;
        }
      });
    }
  }
}

TEST(GatheredLists, HaveOneAxis) {
  on_each_group([](Strategy& strategy) {
    for (const std::size_t length : {1, 1000}) {
      const auto along = [&](int odd) {
        return [=](ReplicaContext& replica) {
          const int own = replica.replica_id();
          replica.all_gather(list_of(own, length), Axis(own == 4 ? odd : 0));
        };
      };
      EXPECT_THAT(text_of_error<StructureMismatchError>([&] { strategy.run(along(-1)); }),
                  AllOf(HasSubstr("different axes"), HasSubstr("gathers along -1")));
      const auto wrong = [&](ReplicaContext& replica) {
        replica.all_gather(list_of(replica.replica_id(), length), Axis(1));
      };
      EXPECT_THAT(text_of_error<InvalidArgumentError>([&] { strategy.run(wrong); }),
                  HasSubstr("along axis 1"));
    }
  });
}

}  // namespace
}  // namespace belfry::testing::gathered_lists
