// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Merges of groups of replicas in logs, traces and flight recorders, the collectives and the memory
// of groups (SEM-272, SEM-276).
#include "belfry/belfry.h"
#include "belfry/flight_recorder.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/cluster.h"
#include "belfry/sim/explore.h"
#include "belfry/testing/asserts.h"
#include "belfry/trace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::groups_test {
namespace {

using Json = nlohmann::json;

// Two rounds of {0, 2}, and one of {1, 3}.
void two_groups(Backend& backend) {
  MirroredStrategy strategy{backend};
  const ReplicaGroups groups = strategy.groups({{0, 2}, {1, 3}});
  strategy.run([&](ReplicaContext& replica) {
    const auto group = replica.in(groups);
    for (int round = 0; round < 2 - group.group(); ++round) {
      (void)group.all_reduce(ReduceOp::kSum, 1);
    }
    (void)replica.all_reduce(ReduceOp::kSum, 1);
  });
}

// A merge follows the arrivals of its members, and its members alone resume after the merge.
TEST(Groups, OrderTheirMembersInATrace) {
  belfry::testing::asserts("SEM-276");
  const std::string path = ::testing::TempDir() + "belfry_groups_trace";
  {
    TraceFile trace{path, {}};
    Backend backend{{.devices = 4, .seed = 3}, Attachments{.trace = &trace}};
    two_groups(backend);
    trace.close();
  }
  std::map<std::int64_t, Json> steps;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    const Json line = Json::parse(text);
    if (line.contains("step")) steps[line["step"].get<std::int64_t>()] = line;
  }
  const auto agents_before = [&](const Json& step) {
    std::set<std::string> agents;
    for (const Json& before : step.value("after", Json::array())) {
      const Json& earlier = steps[before.get<std::int64_t>()];
      if (earlier["kind"] == "arrive") agents.insert(earlier["agent"].get<std::string>());
    }
    return agents;
  };
  using Agents = std::set<std::string>;
  const auto name_of = [](const Json& step) {
    return step.value("group", Json::array()).dump() + " " + step["round"].dump();
  };
  std::vector<std::pair<std::string, Agents>> merges;
  std::map<std::string, int> resumes;
  for (const auto& [number, step] : steps) {
    if (step.contains("round")) EXPECT_EQ(step["name"], "all_reduce");
    if (step["kind"] == "merge") merges.emplace_back(name_of(step), agents_before(step));
    if (step["kind"] == "merge" || step["kind"] == "resume") {
      for (const Json& before : step.value("after", Json::array())) {
        EXPECT_EQ(name_of(steps[before.get<std::int64_t>()]), name_of(step));
      }
    }
    if (step["kind"] == "resume") ++resumes[name_of(step)];
  }
  EXPECT_EQ(merges,
            (std::vector<std::pair<std::string, Agents>>{{"[0,2] 1", {"R0", "R2"}},
                                                         {"[1,3] 1", {"R1", "R3"}},
                                                         {"[0,2] 2", {"R0", "R2"}},
                                                         {"[] 1", {"R0", "R1", "R2", "R3"}}}));
  EXPECT_EQ(resumes, (std::map<std::string, int>{
                         {"[] 1", 4}, {"[0,2] 1", 2}, {"[0,2] 2", 2}, {"[1,3] 1", 2}}));
}

using Groups = std::vector<std::string>;

// The group of each entry in the file of a rank.
Groups groups_in(const std::string& prefix, int rank) {
  Groups groups;
  const Json file = Json::parse(std::ifstream(prefix + "rank" + std::to_string(rank) + ".json"));
  for (const Json& entry : file["entries"]) {
    groups.push_back(entry["process_group"][1].get<std::string>());
  }
  return groups;
}

// Rank 1 has the merge of {1, 3} and that of all.
TEST(Groups, HaveGroupsInTheFilesOfAFlightRecorder) {
  belfry::testing::asserts("SEM-276");
  const std::string prefix = ::testing::TempDir() + "belfry_groups_flight-";
  FlightRecorder recorder{prefix};
  Backend backend{{.devices = 4}, Attachments{.recorder = &recorder}};
  two_groups(backend);
  recorder.write();
  EXPECT_EQ(groups_in(prefix, 1), (Groups{"group {1, 3} of strategy 0", "strategy"}));
  EXPECT_EQ(groups_in(prefix, 2),
            (Groups{"group {0, 2} of strategy 0", "group {0, 2} of strategy 0", "strategy"}));
}

// Replica 3 leaves out the second merge of {1, 3}: replica 1 waits. Replicas 0 and 2 end.
TEST(Groups, TellTheMergeInWhichAMemberWaits) {
  belfry::testing::asserts("SEM-276");
  const std::string prefix = ::testing::TempDir() + "belfry_groups_wait-";
  FlightRecorder recorder{prefix};
  Backend backend{{.devices = 4}, Attachments{.recorder = &recorder}};
  MirroredStrategy strategy{backend};
  const ReplicaGroups groups = strategy.groups({{0, 2}, {1, 3}});
  const auto run = [&] {
    strategy.run([&](ReplicaContext& replica) {
      replica.in(groups).all_reduce(ReduceOp::kSum, 1);
      if (replica.replica_id() != 3) replica.in(groups).all_reduce(ReduceOp::kMean, 1.0);
    });
  };
  EXPECT_THROW(run(), MergeMismatchError);
  const auto texts_of = [&](int rank) {
    std::vector<std::string> texts;
    const Json file = Json::parse(std::ifstream(prefix + "rank" + std::to_string(rank) + ".json"));
    for (const Json& entry : file["entries"]) {
      texts.push_back(entry["process_group"][1].get<std::string>().substr(0, 12) + " " +
                      entry["collective_seq_id"].dump() + " " + entry["state"].get<std::string>() +
                      " " + entry["belfry"]["op"].get<std::string>());
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts_of(1), (Texts{"group {1, 3} 1 completed sum", "group {1, 3} 2 scheduled mean"}));
  EXPECT_EQ(texts_of(3), (Texts{"group {1, 3} 1 completed sum"}));
  EXPECT_EQ(texts_of(0), (Texts{"group {0, 2} 1 completed sum", "group {0, 2} 2 completed mean"}));
}

// Over three hosts. Files are written at a failure.
TEST(Groups, HaveTheRanksOfTheirMembersOnEachHost) {
  belfry::testing::asserts("SEM-276");
  const std::string prefix = ::testing::TempDir() + "belfry_groups_hosts-";
  Cluster cluster{{.devices_of = {2, 1, 3}}, prefix};
  const auto program = [](Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const ReplicaGroups groups = strategy.groups({{0, 3}, {1, 2}, {4, 5}});
    strategy.run([&](ReplicaContext& replica) {
      (void)replica.in(groups).all_reduce(ReduceOp::kSum, 1);
      (void)replica.all_reduce(ReduceOp::kSum, 1);
      throw std::runtime_error("the end");
    });
  };
  EXPECT_THROW(cluster.run(program), std::runtime_error);
  const std::string members[] = {"{0, 3}", "{1, 2}", "{1, 2}", "{0, 3}", "{4, 5}", "{4, 5}"};
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(groups_in(prefix, rank),
              (Groups{"group " + members[rank] + " of strategy 0", "strategy"}));
  }
}

// Tensors of a group use the collectives of a communicator of its members; devices of other
// replicas get no memory.
TEST(Groups, ReduceAndGatherTensorsOnTheirDevicesAlone) {
  belfry::testing::asserts("SEM-272");
  Backend backend{{.devices = 6, .record = true}};
  MirroredStrategy strategy{backend};
  const ReplicaGroups groups = strategy.groups({{1, 2, 4}});
  strategy.run([&](ReplicaContext& replica) {
    if (groups.group_of(replica.replica_id()) < 0) return;
    const auto group = replica.in(groups);
    const auto x = Tensor<float>::full({2}, static_cast<float>(replica.replica_id()));
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(group.all_reduce(ReduceOp::kSum, x).to_host(), (std::vector<float>{7, 7}));
      EXPECT_EQ(group.all_gather(x).to_host(), (std::vector<float>{1, 1, 2, 2, 4, 4}));
    }
  });
  std::uint64_t collectives = 0;
  for (std::size_t i = 0; i < backend.log().records().size(); ++i) {
    collectives += backend.log().records()[i].kind == OperationKind::kCollective ? 1 : 0;
  }
  EXPECT_EQ(collectives, 2U * 2 * 3);  // Rounds, verbs and members.
  std::set<int> used;
  for (const DeviceMemoryReport& device : backend.memory_report()) {
    if (device.use.peak_bytes > 0) used.insert(device.device);
  }
  EXPECT_EQ(used, (std::set<int>{1, 2, 4}));
}

// The order of the merge functions of two groups is no promise: there is no certificate.
TEST(Groups, HaveNoCertificate) {
  belfry::testing::asserts("SEM-276");
  const Verdict verdict = explore({.devices = 2}, [](Backend& backend) {
    MirroredStrategy strategy{backend};
    const ReplicaGroups alone = strategy.groups({{0}, {1}});
    int order = 0;
    strategy.run([&](ReplicaContext& replica) {
      replica.in(alone).merge_call(
          [&](CrossReplicaContext&, const PerReplica<int>& ids) {
            order = 10 * order + *ids.begin() + 1;
          },
          replica.replica_id());
    });
    return order;
  });
  EXPECT_NE(verdict.level(), VerdictLevel::kCertified);
  const auto& conditions = verdict.report().conditions;
  const auto device_bytes = std::ranges::find_if(
      conditions, [](const Condition& one) { return one.name == "device bytes have an order"; });
  ASSERT_NE(device_bytes, conditions.end());
  EXPECT_FALSE(device_bytes->holds);
  EXPECT_NE(device_bytes->evidence.find("merge_call of group {0}"), std::string::npos)
      << device_bytes->evidence;
}

}  // namespace
}  // namespace belfry::sim::groups_test
