// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The files of flight recorders of simulated backends, and the bound of steps.
#include "belfry/flight_recorder.h"

#include "belfry/backend/backend.h"
#include "belfry/backend/buffer.h"
#include "belfry/backend/collective.h"
#include "belfry/backend/device.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/flight_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::flight_recorder_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using testing::code_of;

using FlightRecorders = testing::FlightFiles;

std::vector<std::string> all_of(const Json& file, const char* member) {
  std::vector<std::string> values;
  for (const Json& entry : file["entries"]) {
    const Json& value = entry[member];
    values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return values;
}

std::string line(int number) { return "flight_recorder_test.cpp:" + std::to_string(number); }

double first(CrossReplicaContext&, const PerReplica<double>& values) { return values[0]; }

Backend two_replicas(FlightRecorder& recorder, Options options = {}) {
  options.devices = 2;
  return Backend(options, Attachments{.recorder = &recorder});
}

TEST_F(FlightRecorders, TellTheMergesOfARun) {
  FlightRecorder recorder{prefix};
  Backend backend = two_replicas(recorder);
  MirroredStrategy strategy{backend};
  auto total = strategy.mirrored_variable(
      0.0, VariableOptions{.name = "total", .aggregation = Aggregation::kSum});
  const int begin = __LINE__;
  strategy.run([&](ReplicaContext& replica) {
    replica.merge_call(first, 1.0);
    replica.all_reduce(ReduceOp::kMean, std::vector<float>{1, 2, 3});
    replica.assign_add(total, 1.0);
  });
  EXPECT_FALSE(std::filesystem::exists(path(0)));
  recorder.write();
  for (const int rank : {0, 1}) {
    const Json told = file(rank);
    EXPECT_EQ(told["version"], "2.10");
    EXPECT_EQ(told["belfry"]["rank"], rank);
    EXPECT_EQ(told["belfry"]["ranks"], 2);
    EXPECT_EQ(told["belfry"]["host_state"], "running");
    EXPECT_EQ(told["belfry"]["reason"], "call");
    EXPECT_EQ(told["pg_config"]["0"]["ranks"], "[0, 1]");
    EXPECT_EQ(told["pg_status"]["0"]["last_completed_collective"], "3");
    EXPECT_THAT(all_of(told, "profiling_name"),
                ElementsAre("belfry:merge_call", "belfry:all_reduce", "belfry:assign"));
    EXPECT_THAT(all_of(told, "state"), ElementsAre("completed", "completed", "completed"));
    EXPECT_THAT(all_of(told, "collective_seq_id"), ElementsAre("1", "2", "3"));
    EXPECT_THAT(all_of(told, "record_id"), ElementsAre("0", "1", "2"));
    EXPECT_THAT(all_of(told, "input_sizes"), ElementsAre("[]", "[[3]]", "[]"));
    EXPECT_THAT(all_of(told, "input_dtypes"), ElementsAre("[]", "[\"Float\"]", "[]"));
    for (int i = 0; i < 3; ++i) {
      const std::string at = told["entries"][static_cast<std::size_t>(i)]["belfry"]["line"];
      EXPECT_THAT(at, EndsWith(line(begin + 2 + i)));
    }
    EXPECT_EQ(told["entries"][1]["belfry"]["op"], "mean");
    EXPECT_EQ(told["entries"][2]["belfry"]["variable"], "total");
  }
}

TEST_F(FlightRecorders, KeepTheLastOperations) {
  FlightRecorder recorder{prefix, {.entries = 2}};
  Backend backend = two_replicas(recorder);
  MirroredStrategy strategy{backend};
  strategy.run([&](ReplicaContext& replica) {
    for (int i = 0; i < 5; ++i) replica.merge_call(first, 1.0);
  });
  recorder.write();
  EXPECT_THAT(all_of(file(1), "collective_seq_id"), ElementsAre("4", "5"));
  EXPECT_THAT(all_of(file(1), "record_id"), ElementsAre("3", "4"));
  EXPECT_THROW(FlightRecorder(prefix, {.entries = 0}), InvalidArgumentError);
}

// Replica 1 leaves the second merge out: replica 0 waits in the merge alone.
TEST_F(FlightRecorders, AreWrittenAtAFailure) {
  const int begin = __LINE__;
  // [record]
  FlightRecorder recorder{folder + "/run-"};
  sim::Backend backend{{.devices = 2}, sim::Attachments{.recorder = &recorder}};
  MirroredStrategy strategy{backend};
  const auto train = [&] {
    strategy.run([](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, 1.0);
      if (replica.replica_id() == 0) replica.all_reduce(ReduceOp::kMean, 2.0);  // The mistake.
    });
  };
  // [record]
  EXPECT_EQ(code_of(train), ErrorCode::kMergeMissing);
  const Json waiting = file(0);
  EXPECT_EQ(waiting["belfry"]["reason"], "failure");
  EXPECT_EQ(waiting["belfry"]["error"]["code"], "BF-010");
  EXPECT_EQ(waiting["belfry"]["host_state"], "waiting");
  EXPECT_EQ(waiting["belfry"]["in"], "all_reduce");
  EXPECT_THAT(waiting["belfry"]["line"].get<std::string>(), EndsWith(line(begin + 8)));
  EXPECT_THAT(all_of(waiting, "state"), ElementsAre("completed", "scheduled"));
  EXPECT_EQ(waiting["entries"][1]["belfry"]["op"], "mean");
  EXPECT_EQ(waiting["pg_status"]["0"]["last_enqueued_collective"], "2");
  EXPECT_EQ(waiting["pg_status"]["0"]["last_completed_collective"], "1");
  const Json ended = file(1);
  EXPECT_EQ(ended["belfry"]["host_state"], "ended");
  EXPECT_THAT(ended["belfry"]["line"].get<std::string>(), EndsWith(line(begin + 7)));
  EXPECT_THAT(all_of(ended, "state"), ElementsAre("completed"));
  EXPECT_EQ(ended["pg_status"]["0"]["last_enqueued_collective"], "1");
}

// The options forbid files, or the folder is missing: the failure of the run stays the same.
TEST_F(FlightRecorders, LeaveFailuresAsTheyAre) {
  FlightRecorder silent{prefix, {.at_failure = false}};
  FlightRecorder lost{prefix + "no/folder/"};
  for (FlightRecorder* const recorder : {&silent, &lost}) {
    Backend backend = two_replicas(*recorder);
    MirroredStrategy strategy{backend};
    const auto run = [&] {
      strategy.run([&](ReplicaContext& replica) {
        if (replica.replica_id() == 0) replica.merge_call(first, 2.0);
      });
    };
    EXPECT_EQ(code_of(run), ErrorCode::kMergeMissing);
  }
  EXPECT_FALSE(std::filesystem::exists(path(0)));
  EXPECT_EQ(code_of([&] { lost.write(); }), ErrorCode::kFile);
}

TEST_F(FlightRecorders, TellAMergeThatThrewAsStarted) {
  FlightRecorder recorder{prefix};
  Backend backend = two_replicas(recorder);
  MirroredStrategy strategy{backend};
  const auto fail = [](CrossReplicaContext&) { throw std::runtime_error("no"); };
  EXPECT_THROW(strategy.run([&](ReplicaContext& replica) { replica.merge_call(fail); }),
               std::runtime_error);
  EXPECT_THAT(all_of(file(0), "state"), ElementsAre("started"));
  EXPECT_EQ(file(0)["belfry"]["error"]["code"], "BF-006");
}

// The devices have not begun when the first file is written: the fixed schedule runs streams late.
TEST_F(FlightRecorders, TellTheCollectivesOfDevices) {
  testing::asserts("SEM-247");
  FlightRecorder recorder{prefix};
  Backend backend = two_replicas(recorder, {.schedule = Schedule::fixed()});
  MirroredStrategy strategy{backend};
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kMean, Tensor<float>::full({2, 3}, 1.0F));
  });
  const int reduced = __LINE__ - 2;
  recorder.write();
  EXPECT_THAT(all_of(file(1), "state"), ElementsAre("completed", "scheduled"));
  EXPECT_EQ(sums[1].to_host()[0], 1.0F);
  recorder.write();
  for (const int rank : {0, 1}) {
    const Json told = file(rank);
    EXPECT_THAT(all_of(told, "profiling_name"), ElementsAre("belfry:all_reduce", "sim:all_reduce"));
    EXPECT_THAT(all_of(told, "state"), ElementsAre("completed", "completed"));
    EXPECT_EQ(told["entries"][1]["input_sizes"], Json::parse("[[6]]"));
    EXPECT_EQ(told["entries"][1]["input_dtypes"], Json::parse("[\"Float\"]"));
    EXPECT_EQ(told["entries"][1]["belfry"]["op"], "mean");
    EXPECT_THAT(told["entries"][1]["belfry"]["line"].get<std::string>(), EndsWith(line(reduced)));
  }
}

// A broadcast shares the bytes of the root, and runs no kernel.
TEST_F(FlightRecorders, TellTheRootOfABroadcast) {
  FlightRecorder recorder{prefix};
  Backend backend = two_replicas(recorder);
  std::vector<CollectivePart> parts;
  for (int rank : {0, 1}) {
    Device& device = backend.device(rank);
    Stream& stream = device.communication_stream();
    const BufferView view = view_of(device.allocate(sizeof(float), stream), DType::kFloat32);
    const float value = static_cast<float>(rank);
    stream.write(view, &value);
    parts.push_back({view, view, &stream});
  }
  const std::vector<int> ranks{0, 1};
  backend.communicator(ranks)->run({.kind = CollectiveKind::kBroadcast, .parts = parts, .root = 1});
  float found = 0;
  parts[0].stream->read(&found, parts[0].output);
  EXPECT_EQ(found, 1.0F);
  recorder.write();
  EXPECT_THAT(all_of(file(0), "profiling_name"), ElementsAre("sim:broadcast"));
  EXPECT_THAT(all_of(file(0), "state"), ElementsAre("completed"));
  EXPECT_EQ(file(0)["entries"][0]["belfry"]["root"], 1);
}

// In the order of the fixed schedule replica 0 waits when replica 1 writes.
TEST_F(FlightRecorders, CanBeWrittenByAReplica) {
  FlightRecorder recorder{prefix};
  Backend backend = two_replicas(recorder, {.schedule = Schedule::fixed()});
  MirroredStrategy strategy{backend};
  strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 1) recorder.write();
    replica.merge_call(first, 1.0);
  });
  EXPECT_EQ(file(0)["belfry"]["host_state"], "waiting");
  EXPECT_THAT(all_of(file(0), "state"), ElementsAre("scheduled"));
  EXPECT_EQ(file(1)["belfry"]["host_state"], "running");
  EXPECT_TRUE(file(1)["entries"].empty());
}

// A run within the merge has a later entry, which ends first.
TEST_F(FlightRecorders, TellOfTheOpenMerge) {
  FlightRecorder recorder{prefix};
  Backend backend = two_replicas(recorder);
  MirroredStrategy strategy{backend};
  const auto write_inside = [&](CrossReplicaContext& cross) {
    recorder.write();
    EXPECT_THAT(all_of(file(0), "state"), ElementsAre("completed", "started"));
    cross.run([&](ReplicaContext& replica) { replica.merge_call(first, 1.0); });
    recorder.write();
    EXPECT_THAT(all_of(file(0), "state"), ElementsAre("completed", "started", "completed"));
  };
  strategy.run([&](ReplicaContext& replica) {
    replica.merge_call(first, 1.0);
    replica.merge_call(write_inside);
    replica.merge_call(first, 1.0);
  });
  recorder.write();
  EXPECT_THAT(all_of(file(1), "state"),
              ElementsAre("completed", "completed", "completed", "completed"));
}

TEST_F(FlightRecorders, NumberStrategiesApart) {
  FlightRecorder recorder{prefix};
  Backend backend = two_replicas(recorder);
  MirroredStrategy both{backend};
  MirroredStrategy second{backend, {.devices = {backend.device_spec(1)}}};
  both.run([&](ReplicaContext& replica) { replica.merge_call(first, 1.0); });
  second.run([&](ReplicaContext& replica) { replica.merge_call(first, 1.0); });
  recorder.write();
  EXPECT_THAT(all_of(file(0), "pg_id"), ElementsAre("0"));
  EXPECT_THAT(all_of(file(1), "pg_id"), ElementsAre("0", "1"));
  EXPECT_EQ(file(1)["pg_config"]["1"]["ranks"], "[1]");
  EXPECT_FALSE(file(0)["pg_config"].contains("1"));
}

TEST_F(FlightRecorders, ChangeNoSchedule) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    FlightRecorder recorder{prefix};
    const auto play = [](Backend& backend) {
      MirroredStrategy strategy{backend};
      strategy.run([&](ReplicaContext& replica) {
        const auto x = Tensor<float>::full({2}, 1.0F + static_cast<float>(replica.replica_id()));
        replica.all_reduce(ReduceOp::kSum, x).to_host();
        replica.merge_call(first, 1.0);
      });
    };
    Backend with = two_replicas(recorder, {.seed = seed});
    Backend without{{.devices = 2, .seed = seed}};
    play(with);
    recorder.write();
    play(without);
    EXPECT_EQ(with.hash(), without.hash());
    EXPECT_EQ(with.replay_token(), without.replay_token());
  }
}

// The replicas wait for a value without a change.
TEST_F(FlightRecorders, AreWrittenAtTheBoundOfSteps) {
  testing::asserts("SEM-246");
  FlightRecorder recorder{prefix};
  Backend backend = two_replicas(recorder, {.max_steps = 100});
  MirroredStrategy strategy{backend};
  auto go_on = strategy.replica_local_variable(ReduceOp::kSum, 0);
  const auto run = [&] {
    strategy.run([&](ReplicaContext& replica) {
      replica.merge_call(first, 1.0);
      while (go_on.on(replica) == 0) {
      }
    });
  };
  EXPECT_EQ(code_of(run), ErrorCode::kDeadline);
  const auto report = strategy.last_failure();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->summary, "a run took more than 100 steps");
  ASSERT_EQ(report->replicas.size(), 2U);
  for (const ReplicaReport& replica : report->replicas) {
    EXPECT_EQ(replica.what, "goes on after merge #1");
  }
  EXPECT_EQ(file(0)["belfry"]["reason"], "deadline");
  EXPECT_EQ(file(0)["belfry"]["error"]["code"], "BF-018");
}

// Two replicas at n merges take 2 n steps.
TEST_F(FlightRecorders, CountTheStepsOfEachRun) {
  testing::asserts("SEM-246");
  for (const int merges : {50, 51}) {
    Backend backend{{.devices = 2, .max_steps = 100}};
    MirroredStrategy strategy{backend};
    const auto run = [&] {
      strategy.run([&](ReplicaContext& replica) {
        for (int i = 0; i < merges; ++i) replica.merge_call(first, 1.0);
      });
    };
    if (merges == 51) {
      EXPECT_EQ(code_of(run), ErrorCode::kDeadline);
    } else {
      run();
      run();
    }
  }
}

TEST_F(FlightRecorders, PrintTheirOptions) {
  EXPECT_EQ(to_string(FlightRecorderOptions{}), "{}");
  EXPECT_EQ(to_string(FlightRecorderOptions{.entries = 3, .at_failure = false}),
            "{.entries = 3, .at_failure = false}");
}

}  // namespace
}  // namespace belfry::sim::flight_recorder_test
