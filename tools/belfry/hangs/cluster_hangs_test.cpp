// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The files of the flight recorders of a simulated cluster, and the reader of hangs.
#include "belfry/belfry.h"
#include "belfry/sim/cluster.h"
#include "belfry/testing/flight_files.h"
#include "hangs/dump_reader.h"
#include "hangs/hang.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace belfry::tool::hangs {
namespace {

constexpr int kHosts = 3;
constexpr int kCalls = 6;

class ClusterHangs : public belfry::testing::FlightFiles {
 protected:
  // The ranks with files.
  std::vector<int> written() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < 2 * kHosts; ++rank) {
      if (std::filesystem::exists(path(rank))) ranks.push_back(rank);
    }
    return ranks;
  }
  Job job() const {
    std::vector<std::string> files;
    for (const int rank : written()) files.push_back(path(rank));
    return Job(read_dumps(files));
  }
  // Runs a program on all hosts until it fails. Removes the files of a program before.
  void fail(const sim::ClusterOptions& options, const std::function<void(sim::Host&)>& program) {
    for (const int rank : written()) std::filesystem::remove(path(rank));
    sim::Cluster cluster(options, prefix);
    EXPECT_THROW(cluster.run(program), Error);
  }
};

sim::ClusterOptions hosts(int devices, std::uint64_t seed = 0) {
  return {.hosts = kHosts, .devices = devices, .seed = seed};
}

enum class Slip { kLeftOut, kLength, kOperator };

// Sums of tensors, whose lengths name the calls. Replicas of the last host slip once.
void train(sim::Host& host, Slip slip, int wrong_call) {
  MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
  strategy.run([&](ReplicaContext& replica) {
    for (int call = 0; call < kCalls; ++call) {
      const bool is_wrong = call == wrong_call && host.group().rank() == kHosts - 1;
      if (is_wrong && slip == Slip::kLeftOut) continue;
      const int length = 1 + call + (is_wrong && slip == Slip::kLength ? 100 : 0);
      const bool is_other = is_wrong && slip == Slip::kOperator;
      replica.all_reduce(is_other ? ReduceOp::kMean : ReduceOp::kSum,
                         std::vector<float>(static_cast<std::size_t>(length), 1.0F));
    }
  });
}

TEST_F(ClusterHangs, AreNamedFromTheFilesOfAllHosts) {
  for (const Slip slip : {Slip::kLeftOut, Slip::kLength, Slip::kOperator}) {
    for (int devices : {1, 2}) {
      for (int call = 0; call < kCalls; ++call) {
        fail(hosts(devices, static_cast<std::uint64_t>(call)),
             [&](sim::Host& host) { train(host, slip, call); });
        const Job read = job();
        const Hang hang = hang_of(read, Waits(read));
        SCOPED_TRACE(::testing::Message() << "slip " << static_cast<int>(slip) << ", " << devices
                                          << " devices, call " << call);
        EXPECT_EQ(static_cast<int>(written().size()), kHosts * devices);
        ASSERT_EQ(hang.verdict, Verdict::kNamed);
        std::vector<int> wrong;
        for (int i = 0; i < devices; ++i) wrong.push_back((kHosts - 1) * devices + i);
        EXPECT_EQ(hang.causes.front().ranks, wrong);
        EXPECT_EQ(hang.causes.front().call->seq, call + 1);
      }
    }
  }
}

// The last host returns after the first of two runs, and its ranks have ended.
TEST_F(ClusterHangs, NameAHostThatHasReturned) {
  fail(hosts(2), [](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const auto sum = [](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1.0); };
    strategy.run(sum);
    if (host.group().rank() == kHosts - 1) return;
    strategy.run(sum);
  });
  EXPECT_EQ(written(), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  for (const int rank : {4, 5}) {
    EXPECT_EQ(file(rank)["belfry"]["host_state"], "ended");
    EXPECT_EQ(file(rank)["entries"].size(), 1U);
  }
  const Job read = job();
  const Hang hang = hang_of(read, Waits(read));
  ASSERT_EQ(hang.verdict, Verdict::kNamed);
  EXPECT_EQ(hang.causes.front().kind, FindingKind::kEnded);
  EXPECT_EQ(hang.causes.front().ranks, (std::vector<int>{4, 5}));
}

// Hosts have two ranks each. The second rank of the last host leaves a merge of its group out.
TEST_F(ClusterHangs, NameTheMemberThatStaysAwayFromItsGroup) {
  fail(hosts(2), [](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const ReplicaGroups groups = strategy.groups({{0, 1}, {2, 3}, {4, 5}});
    strategy.run([&](ReplicaContext& replica) {
      replica.in(groups).all_reduce(ReduceOp::kSum, 1);
      if (replica.replica_id() != 5) replica.in(groups).all_reduce(ReduceOp::kSum, 1);
    });
  });
  const Job read = job();
  const Hang hang = hang_of(read, Waits(read));
  ASSERT_EQ(hang.verdict, Verdict::kNamed);
  const Finding& cause = hang.causes.front();
  EXPECT_EQ(cause.kind, FindingKind::kEnded);
  EXPECT_EQ(cause.ranks, std::vector<int>{5});
  EXPECT_EQ(read.groups[cause.call->group].words(), "group 0 {4, 5} (group {4, 5} of strategy 0)");
  EXPECT_EQ(cause.call->seq, 2);
}

// A stopped host leaves no files, as a process that crashed.
TEST_F(ClusterHangs, NameAHostThatWasStopped) {
  sim::ClusterOptions options = hosts(1);
  options.faults = {{.kind = sim::HostFault::Kind::kStop, .host = 1, .call = 6}};
  fail(options, [](sim::Host& host) { train(host, Slip::kLeftOut, -1); });
  EXPECT_EQ(written(), (std::vector<int>{0, 2}));
  const Job read = job();
  const Hang hang = hang_of(read, Waits(read));
  ASSERT_NE(hang.verdict, Verdict::kNothing);
  EXPECT_EQ(hang.causes.front().kind, FindingKind::kNoDump);
  EXPECT_EQ(hang.causes.front().ranks, std::vector<int>{1});
}

// The replicas of host 1 are ranks 2 and 3, also in the collectives of its devices alone.
TEST_F(ClusterHangs, HaveTheRanksOfTheJobInEachGroup) {
  fail(hosts(2), [](sim::Host& host) {
    MirroredStrategy alone{host.backend()};
    const auto sum = [](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({3}, 1.0F)).to_host();
    };
    alone.run(sum);
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    alone.run(sum);
    train(host, Slip::kLeftOut, 0);
  });
  for (int rank = 0; rank < 2 * kHosts; ++rank) {
    SCOPED_TRACE(rank);
    const nlohmann::json told = file(rank);
    const std::vector<nlohmann::json> sums = belfry::testing::flight_entries(told, "communicator");
    ASSERT_EQ(sums.size(), 2U);
    for (const nlohmann::json& sum : sums) {
      EXPECT_EQ(sum["profiling_name"], "sim:all_reduce");
      EXPECT_EQ(sum["state"], "completed");
      EXPECT_EQ(sum["input_sizes"], nlohmann::json::parse("[[3]]"));
    }
    const int first = rank / 2 * 2;
    const std::string group = sums[0]["process_group"][0];
    EXPECT_EQ(told["pg_config"][group]["ranks"],
              "[" + std::to_string(first) + ", " + std::to_string(first + 1) + "]");
  }
}

}  // namespace
}  // namespace belfry::tool::hangs
