// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Flight recorders, deadlines and signals of the CUDA backend, on the simulated driver.
#include "belfry/flight_recorder.h"

#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "belfry/testing/flight_files.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace belfry::cuda::flight_recorder_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using test::code_of;
using test::first_ranks;
using test::Members;

class CudaFlights : public testing::FlightFiles {
 protected:
  // Lets other threads run until the file is there.
  void await_file(int rank) const {
    while (!std::filesystem::exists(path(rank))) std::this_thread::yield();
  }
};

double first(CrossReplicaContext&, const PerReplica<double>& values) { return values[0]; }

std::string line(int number) { return "flight_recorder_test.cpp:" + std::to_string(number); }

TEST_F(CudaFlights, TellMergesAndCollectives) {
  const sim::SimulatedDriver machine({.gpus = 2});
  FlightRecorder recorder{prefix};
  Backend backend{{.recorder = &recorder}};
  MirroredStrategy strategy{backend};
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto x = Tensor<float>::full({2, 3}, 1.0F);
    return replica.all_reduce(ReduceOp::kSum, x);
  });
  const int reduced = __LINE__ - 2;
  EXPECT_EQ(sums[0].to_host()[0], 2.0F);
  EXPECT_EQ(sums[1].to_host()[0], 2.0F);
  recorder.write();
  for (const int rank : {0, 1}) {
    const Json told = file(rank);
    EXPECT_EQ(told["belfry"]["rank"], rank);
    const std::vector<Json> merges = testing::flight_entries(told, "strategy");
    ASSERT_EQ(merges.size(), 1U);
    EXPECT_EQ(merges[0]["profiling_name"], "belfry:all_reduce");
    EXPECT_EQ(merges[0]["state"], "completed");
    const std::vector<Json> collectives = testing::flight_entries(told, "communicator");
    ASSERT_EQ(collectives.size(), 1U);
    EXPECT_EQ(collectives[0]["profiling_name"], "nccl:all_reduce");
    EXPECT_EQ(collectives[0]["state"], "completed");
    EXPECT_EQ(collectives[0]["input_sizes"], Json::parse("[[6]]"));
    EXPECT_EQ(collectives[0]["belfry"]["op"], "sum");
    EXPECT_THAT(collectives[0]["belfry"]["line"].get<std::string>(), EndsWith(line(reduced)));
    EXPECT_GT(merges[0]["time_created_ns"].get<std::int64_t>(), 0);
    EXPECT_GE(collectives[0]["time_created_ns"], merges[0]["time_created_ns"]);
    EXPECT_GE(collectives[0]["time_discovered_completed_ns"], collectives[0]["time_created_ns"]);
    EXPECT_GT(collectives[0]["record_id"], merges[0]["record_id"]);
  }
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

// Rank 0 sends a float to rank 1. Two floats of each rank become one on each rank.
TEST_F(CudaFlights, TellExchangesAndReduceScatters) {
  const sim::SimulatedDriver machine({.gpus = 2});
  FlightRecorder recorder{prefix};
  Backend backend{{.recorder = &recorder, .warm_up = false}};
  const auto clique = backend.communicator(first_ranks(2));
  Members members(backend);
  const std::vector<Transfer> transfers{{0, 1, members.parts[0].input, members.parts[1].output}};
  clique->run({.kind = CollectiveKind::kExchange, .parts = members.parts, .transfers = transfers});
  for (CollectivePart& part : members.parts) {
    part.input = view_of(part.stream->device().allocate(8, *part.stream), DType::kInt32);
    part.stream->launch({.kind = KernelKind::kFill, .outputs = {part.input}, .inputs = {}});
    part.output = view_of(part.stream->device().allocate(4, *part.stream), DType::kInt32);
  }
  clique->run({.kind = CollectiveKind::kReduceScatter, .parts = members.parts});
  for (const CollectivePart& part : members.parts) part.stream->synchronize();
  recorder.write();
  const std::vector<Json> calls = testing::flight_entries(file(0), "communicator");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0]["profiling_name"], "nccl:exchange");
  EXPECT_EQ(calls[0]["input_sizes"], Json::parse("[[1]]"));
  EXPECT_EQ(calls[1]["profiling_name"], "nccl:reduce_scatter");
  EXPECT_EQ(calls[1]["input_sizes"], Json::parse("[[2]]"));
  EXPECT_EQ(calls[1]["belfry"]["op"], "sum");
  for (const Json& call : calls) EXPECT_EQ(call["state"], "completed");
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

// 100 collectives are more than the recorder keeps events for.
TEST_F(CudaFlights, NoteTheEndOfEachCollective) {
  const sim::SimulatedDriver machine({.gpus = 2});
  FlightRecorder recorder{prefix};
  Backend backend{{.recorder = &recorder}};
  const auto clique = backend.communicator(first_ranks(2));
  Members members(backend);
  for (int i = 0; i < 100; ++i)
    clique->run(
        {.kind = CollectiveKind::kAllReduce, .parts = members.parts, .op = ReduceOp::kMean});
  EXPECT_EQ(members.value(0), members.value(1));
  recorder.write();
  const std::vector<Json> calls = testing::flight_entries(file(1), "communicator");
  ASSERT_EQ(calls.size(), 100U);
  for (const Json& call : calls) EXPECT_EQ(call["state"], "completed");
  EXPECT_EQ(file(1)["pg_status"]["0"]["last_completed_collective"], "100");
}

// Two processes, here threads; the second never calls its second collective. The first waits for
// the device in a run, whose failure leaves the files of the deadline as they are.
TEST_F(CudaFlights, TellAMissingRankAtTheDeadlineOfWork) {
  const sim::SimulatedDriver machine({.gpus = 2, .host_threads = 3});
  FlightRecorder recorders[2] = {FlightRecorder{prefix}, FlightRecorder{prefix}};
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<std::vector<std::byte>> offers;
  for (int process = 0; process < 2; ++process) {
    backends.push_back(std::make_unique<Backend>(Options{.devices = {process},
                                                         .recorder = &recorders[process],
                                                         .work_deadline = milliseconds(200),
                                                         .warm_up = false}));
    offers.push_back(backends.back()->offer(first_ranks(1), process == 0));
  }
  std::vector<std::jthread> threads;
  std::latch both(2);
  for (int process = 0; process < 2; ++process) {
    threads.emplace_back([&, process] {
      Backend& backend = *backends[static_cast<std::size_t>(process)];
      const auto joined =
          backend.join(first_ranks(1), {offers, process, [] { return GroupHealth{}; }});
      Members members(backend);
      joined->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
      members.value(0);
      both.arrive_and_wait();
      if (process == 1) return recorders[1].write();
      MirroredStrategy strategy{backend};
      const auto wait = [&] {
        strategy.run([&](ReplicaContext&) {
          joined->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
          members.value(0);
        });
      };
      EXPECT_EQ(code_of(wait), ErrorCode::kDeviceLost);
    });
  }
  threads.clear();
  const auto states = [&](int rank) {
    std::vector<std::string> found;
    for (const Json& call : testing::flight_entries(file(rank), "communicator"))
      found.push_back(call["state"]);
    return found;
  };
  EXPECT_THAT(states(0), ElementsAre("completed", "scheduled"));
  EXPECT_THAT(states(1), ElementsAre("completed"));
  EXPECT_EQ(file(0)["belfry"]["reason"], "deadline");
  EXPECT_EQ(file(0)["belfry"]["error"]["code"], "BF-063");
  EXPECT_EQ(file(0)["belfry"]["host_state"], "waiting");
  EXPECT_THAT(file(0)["belfry"]["error"]["text"].get<std::string>(),
              HasSubstr("open: all_reduce #2 of communicator c0"));
  EXPECT_EQ(file(0)["entries"][1]["process_group"], file(1)["entries"][0]["process_group"]);
  EXPECT_EQ(file(0)["pg_config"]["c0"]["ranks"], "[0, 1]");
}

// Calls `at_end` when the scope is unwound.
template <class F>
struct AtEnd {
  F at_end;
  ~AtEnd() { at_end(); }
};

// Replica 1 stays in its own code until the wait of replica 0 has ended.
TEST_F(CudaFlights, EndTheWaitForAReplicaThatDoesNotArrive) {
  const sim::SimulatedDriver machine({.gpus = 2});
  FlightRecorder recorder{prefix};
  Backend backend{{.recorder = &recorder, .merge_deadline = milliseconds(50)}};
  MirroredStrategy strategy{backend};
  std::latch ended(1);
  const int begin = __LINE__;
  const auto run = [&] {
    strategy.run([&](ReplicaContext& replica) {
      replica.merge_call(first, 1.0);
      if (replica.replica_id() == 1) return ended.wait();
      const AtEnd go{[&] { ended.count_down(); }};
      replica.merge_call(first, 2.0);
    });
  };
  EXPECT_EQ(code_of(run), ErrorCode::kDeadline);
  const auto report = strategy.last_failure();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->summary, "no merge within 50 ms: replica 1 did not arrive");
  ASSERT_EQ(report->replicas.size(), 2U);
  EXPECT_EQ(report->replicas[0].what, "waits in merge_call #2");
  EXPECT_EQ(report->replicas[0].site.line, begin + 6);
  EXPECT_EQ(report->replicas[1].what, "runs its own code after merge #1");
  EXPECT_EQ(report->replicas[1].site.line, begin + 3);
  const Json waits = file(0);
  EXPECT_EQ(waits["belfry"]["reason"], "deadline");
  EXPECT_EQ(waits["belfry"]["error"]["code"], "BF-018");
  EXPECT_EQ(waits["belfry"]["host_state"], "waiting");
  EXPECT_EQ(waits["entries"].size(), 2U);
  const Json misses = file(1);
  EXPECT_EQ(misses["belfry"]["host_state"], "running");
  EXPECT_THAT(misses["belfry"]["line"].get<std::string>(), EndsWith(line(begin + 3)));
  EXPECT_EQ(misses["entries"].size(), 1U);
  // The strategy is usable.
  EXPECT_EQ(strategy.run([](ReplicaContext& replica) { return replica.merge_call(first, 3.0); })[1],
            3.0);
}

TEST_F(CudaFlights, EndARunThatTakesTooLong) {
  const sim::SimulatedDriver machine({.gpus = 2});
  FlightRecorder recorder{prefix};
  Backend backend{{.recorder = &recorder, .run_deadline = milliseconds(50)}};
  MirroredStrategy strategy{backend};
  const auto run = [&] {
    strategy.run([&](ReplicaContext& replica) {
      replica.merge_call(first, 1.0);
      await_file(0);  // Written at the deadline, and no replica waits for another.
      await_file(1);
    });
  };
  EXPECT_EQ(code_of(run), ErrorCode::kDeadline);
  EXPECT_EQ(strategy.last_failure()->summary, "a run did not end within 50 ms");
  EXPECT_EQ(file(1)["belfry"]["host_state"], "running");
}

// Replicas that take long between merges are not late while nobody waits for them.
TEST_F(CudaFlights, LeaveRunsWithoutAWaitAlone) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend{{.merge_deadline = milliseconds(1)}};
  MirroredStrategy strategy{backend};
  std::latch both(2);
  strategy.run([&](ReplicaContext&) {
    const auto end = std::chrono::steady_clock::now() + milliseconds(20);
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    both.arrive_and_wait();
  });
}

TEST_F(CudaFlights, AreWrittenAtASignal) {
  const sim::SimulatedDriver machine({.gpus = 1});
  FlightRecorder recorder{prefix};
  {
    using std::chrono::minutes;
    // [deadlines]
    cuda::Backend backend{{.recorder = &recorder,
                           .merge_deadline = minutes(10),
                           .work_deadline = minutes(10),
                           .write_signal = SIGUSR1}};
    // [deadlines]
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) {
      replica.merge_call(first, 1.0);
      std::raise(SIGUSR1);
      await_file(0);
    });
    EXPECT_EQ(file(0)["belfry"]["reason"], "signal");
    EXPECT_EQ(file(0)["entries"].size(), 1U);
    EXPECT_EQ(code_of([&] { Backend{{.recorder = &recorder, .write_signal = SIGUSR1}}; }),
              ErrorCode::kInvalidArgument);
  }
  struct sigaction now{};
  ::sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL) << "the handler before";
}

TEST_F(CudaFlights, RefuseOptionsWithoutSense) {
  const sim::SimulatedDriver machine({.gpus = 1});
  FlightRecorder recorder{prefix};
  const auto make = [](Options options) { return code_of([&] { Backend{options}; }); };
  EXPECT_EQ(make({.merge_deadline = milliseconds(-1)}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(make({.write_signal = SIGUSR1}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(make({.recorder = &recorder, .write_signal = 1000}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(make({.recorder = &recorder, .write_signal = SIGKILL}), ErrorCode::kInvalidArgument);
}

TEST_F(CudaFlights, PrintTheOptions) {
  EXPECT_EQ(to_string(Options{.merge_deadline = milliseconds(5),
                              .run_deadline = milliseconds(6),
                              .work_deadline = milliseconds(7),
                              .write_signal = 10}),
            "{.merge_deadline = std::chrono::milliseconds{5}, .run_deadline = "
            "std::chrono::milliseconds{6}, .work_deadline = std::chrono::milliseconds{7}, "
            ".write_signal = 10}");
}

}  // namespace
}  // namespace belfry::cuda::flight_recorder_test
