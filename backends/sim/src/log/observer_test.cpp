// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/observer.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "testing/seen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::observer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Seen;
using testing::SeenOnce;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Kind = Observation::Kind;

// Actors in the expected lists: `H0` is the host outside runs, `R1 of run 2` replica 1 of the
// second run, `M0 of run 2` the merge function of this run, `S3` the stream with number 3.
class AnObserver : public ::testing::Test {
 protected:
  Seen seen_;
  Backend backend_{{.devices = 2, .schedule = Schedule::fixed()}, Attachments{.observer = &seen_}};
  MirroredStrategy strategy_{backend_};
};

TEST_F(AnObserver, HearsWhoSubmitsWork) {
  belfry::testing::asserts("SEM-78");
  Tensor<float>::full(Shape{2}, 1.0F, strategy_.placement(0));
  strategy_.run([&](ReplicaContext& replica) {
    Tensor<float>::full(Shape{2}, 1.0F);
    replica.merge_call(
        [&](CrossReplicaContext&) { Tensor<float>::full(Shape{2}, 1.0F, strategy_.placement(1)); });
  });
  EXPECT_THAT(seen_.actors(Kind::kSubmitted),
              ElementsAre("H0", "R0 of run 1", "R1 of run 1", "M0 of run 1"));
}

TEST_F(AnObserver, TellsNestedRunsApart) {
  belfry::testing::asserts("SEM-78");
  const auto submit = [&] { Tensor<float>::full(Shape{2}, 1.0F, strategy_.placement(0)); };
  strategy_.run([&](ReplicaContext& outer) {
    outer.merge_call([&](CrossReplicaContext&) {
      strategy_.run([&](ReplicaContext& inner) {
        submit();
        inner.merge_call([&](CrossReplicaContext&) { submit(); });
      });
      submit();
    });
    submit();
  });
  strategy_.run([&](ReplicaContext&) { submit(); });
  EXPECT_THAT(seen_.actors(Kind::kSubmitted),
              ElementsAre("R0 of run 2", "R1 of run 2", "M1 of run 2", "M0 of run 1", "R0 of run 1",
                          "R1 of run 1", "R0 of run 3", "R1 of run 3"));
}

TEST_F(AnObserver, HearsOfTheBeginAndEndOfRuns) {
  strategy_.run([&](ReplicaContext& outer) {
    outer.merge_call([&](CrossReplicaContext&) { strategy_.run([](ReplicaContext&) {}); });
  });
  std::vector<std::string> runs;
  for (const SeenOnce& one : seen_.all) {
    if (one.kind != Kind::kRunBegan && one.kind != Kind::kRunEnded) continue;
    runs.push_back(to_string(one.actor) + ' ' + to_string(one.kind) + ' ' +
                   std::to_string(one.run));
  }
  EXPECT_THAT(runs, ElementsAre("H0 run began 1", "M0 of run 1 run began 2",
                                "M0 of run 1 run ended 2", "H0 run ended 1"));
}

TEST_F(AnObserver, HearsWhatReplicasAndMergesDo) {
  strategy_.run([](ReplicaContext& replica) { replica.merge_call([](CrossReplicaContext&) {}); });
  std::vector<std::string> steps;
  for (const SeenOnce& one : seen_.of(Kind::kOperation)) {
    steps.push_back(to_string(one.actor) + ' ' + to_string(one.operation));
  }
  EXPECT_THAT(steps, ElementsAre("R0 of run 1 start", "R0 of run 1 arrive", "R1 of run 1 start",
                                 "R1 of run 1 arrive", "M0 of run 1 merge", "R0 of run 1 resume",
                                 "R0 of run 1 end", "R1 of run 1 resume", "R1 of run 1 end"));
}

TEST_F(AnObserver, HearsTheLineOfTheUsersCall) {
  const int line = __LINE__;
  strategy_.run([&](ReplicaContext& replica) {
    auto x = Tensor<float>::full(Shape{2, 2}, 1.0F);             // 2
    auto y = matmul(x, x);                                       // 3
    scale(y, 3.0F);                                              // 4
    y = replica.all_reduce(ReduceOp::kSum, y);                   // 5
    y = y.copy_to(strategy_.placement(0));                       // 6
    y = concatenate(std::vector<Tensor<float>>{x, x}, Axis(0));  // 7
  });
  std::map<std::string, std::vector<int>> lines;
  for (const SeenOnce& one : seen_.of(Kind::kSubmitted)) {
    EXPECT_TRUE(std::string(one.site.file).ends_with("observer_test.cpp")) << one.name;
    lines[to_string(one.actor)].push_back(one.site.line - line);
  }
  EXPECT_THAT(lines["R0 of run 1"], ElementsAre(2, 3, 4, 7, 7));
  EXPECT_THAT(lines["R1 of run 1"], ElementsAre(2, 3, 4, 6, 7, 7));
  EXPECT_THAT(lines["M0 of run 1"], ElementsAre(5));
}

// Replica 1 has turns while replica 0 is in the middle of a call.
TEST(ManyObservers, HearTheSameLinesInEverySchedule) {
  const int line = __LINE__;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Seen seen;
    Backend backend{{.devices = 2, .seed = seed}, Attachments{.observer = &seen}};
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) {
      const auto x = Tensor<float>::full(Shape{}, 1.0F);                              // 6
      if (replica.replica_id() == 0) return x.copy_to(strategy.placement(1)).item();  // 7
      return x.copy_to(strategy.placement(0)).item();                                 // 8
    });
    std::map<std::string, std::vector<int>> lines;
    for (const SeenOnce& one : seen.of(Kind::kSubmitted)) {
      lines[to_string(one.actor)].push_back(one.site.line - line);
    }
    EXPECT_THAT(lines["R0 of run 1"], ElementsAre(6, 7)) << seed;
    EXPECT_THAT(lines["R1 of run 1"], ElementsAre(6, 8)) << seed;
  }
}

// The code of the submissions of each replica.
class Codes final : public Observer {
 public:
  void observe(const Observation& seen) override {
    if (seen.kind == Kind::kSubmitted && seen.actor.run != 0) {
      of_replica[seen.actor.agent.index].insert(seen.code);
    }
  }
  std::map<std::int32_t, std::set<const void*>> of_replica;
};

// A replica that writes calls from a single line, and a replica that fills from a second line,
// whatever happens between a call and its submission.
TEST(ManyObservers, HearTheSameCodeInEverySchedule) {
  Codes codes;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Backend backend{{.devices = 2, .seed = seed}, Attachments{.observer = &codes}};
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) {
      Device& device = backend.device(replica.replica_id());
      const auto stream = device.create_stream();
      const BufferView to = view_of(device.allocate(4, *stream), DType::kInt32);
      const std::int32_t number = 3;
      for (int i = 0; i < 3; ++i) {
        if (replica.replica_id() == 0) {
          stream->write(to, &number);
        } else {
          Kernel kernel;
          kernel.outputs = {to};
          stream->launch(std::move(kernel));
        }
      }
      stream->synchronize();
    });
  }
  ASSERT_THAT(codes.of_replica, SizeIs(2));
  EXPECT_THAT(codes.of_replica[0], SizeIs(1));
  EXPECT_THAT(codes.of_replica[1], SizeIs(1));
  EXPECT_NE(codes.of_replica[0], codes.of_replica[1]);
}

TEST_F(AnObserver, HearsOfDeviceWorkFromSubmissionToEnd) {
  const auto x = Tensor<float>::full(Shape{3}, 1.0F, strategy_.placement(1));
  EXPECT_THAT(seen_.of(Kind::kTookEffect), IsEmpty());  // Streams are lazy.
  EXPECT_EQ(x.to_host(), std::vector<float>(3, 1.0F));
  std::vector<Kind> kinds;
  for (const SeenOnce& one : seen_.all) kinds.push_back(one.kind);
  EXPECT_THAT(kinds,
              ElementsAre(Kind::kAllocated, Kind::kSubmitted, Kind::kHostWaits, Kind::kTookEffect,
                          Kind::kFinished, Kind::kHostWaited, Kind::kHostRead));
  const SeenOnce& submitted = seen_.all[1];
  const SeenOnce& effect = seen_.all[3];
  EXPECT_EQ(submitted.name, "fill");
  EXPECT_THAT(submitted.items, ElementsAre(effect.items.at(0)));
  EXPECT_EQ(effect.items[0].item, 1u);
  EXPECT_EQ(effect.actor.agent, (AgentId{AgentId::Kind::kStream, effect.items[0].stream}));
  for (const std::size_t i : {0u, 1u, 3u, 6u}) {
    const SeenOnce* const one = &seen_.all[i];
    ASSERT_EQ(one->footprints.size(), 1u);
    EXPECT_EQ(one->footprints[0].resource, seen_.all[0].footprints[0].resource);
    EXPECT_EQ(one->footprints[0].begin, 0u);
    EXPECT_EQ(one->footprints[0].end, 3 * sizeof(float));
  }
  EXPECT_EQ(effect.footprints[0].mode, AccessMode::kWrite);
  EXPECT_EQ(seen_.all[6].footprints[0].mode, AccessMode::kRead);
}

TEST_F(AnObserver, HearsOfACollectiveOnce) {
  strategy_.run([](ReplicaContext& replica) {
    const auto x = Tensor<float>::full(Shape{2}, 1.0F);
    return replica.all_reduce(ReduceOp::kSum, x).to_host()[0];
  });
  const auto is_collective = [](const SeenOnce& one) { return one.items.size() == 2; };
  const auto submitted = seen_.of(Kind::kSubmitted);
  const auto effects = seen_.of(Kind::kTookEffect);
  ASSERT_EQ(std::ranges::count_if(submitted, is_collective), 1);
  ASSERT_EQ(std::ranges::count_if(effects, is_collective), 1);
  const auto first = std::ranges::find_if(submitted, is_collective);
  EXPECT_EQ(first->items, std::ranges::find_if(effects, is_collective)->items);
  EXPECT_NE(first->items[0].stream, first->items[1].stream);
  EXPECT_EQ(seen_.of(Kind::kArrived).size(), 2u);
}

TEST_F(AnObserver, HearsOfFailedWork) {
  const Placement here = strategy_.placement(0);
  const auto table = Tensor<float>::full(Shape{2, 1}, 1.0F, here);
  const auto beyond = Tensor<std::int32_t>::full(Shape{1}, 2, here);
  const auto row = gather_rows(table, beyond);
  EXPECT_THROW((void)row.to_host(), DeviceError);
  EXPECT_EQ(seen_.of(Kind::kSubmitted).size(), 3u);
  EXPECT_EQ(seen_.of(Kind::kTookEffect).size(), 2u);
  const auto finished = seen_.of(Kind::kFinished);
  ASSERT_EQ(finished.size(), 3u);
  EXPECT_FALSE(finished[1].failed);
  EXPECT_TRUE(finished[2].failed);
  ASSERT_EQ(seen_.of(Kind::kHostWaited).size(), 1u);
  EXPECT_TRUE(seen_.of(Kind::kHostWaited)[0].failed);
}

TEST_F(AnObserver, HearsOfQueries) {
  const auto x = Tensor<float>::full(Shape{2}, 1.0F, strategy_.placement(0));
  const Completion end = strategy_.cross_replica().group(x);
  EXPECT_TRUE(end.done());  // A query runs a step.
  const int line = __LINE__ - 1;
  const auto queries = seen_.of(Kind::kQueried);
  ASSERT_EQ(queries.size(), 1u);
  EXPECT_TRUE(queries[0].done);
  EXPECT_EQ(queries[0].event.number, 1u);
  EXPECT_EQ(queries[0].record, 1u);
  EXPECT_EQ(queries[0].site.line, line);
}

TEST_F(AnObserver, HearsOfQuestionsAboutTheLogAndTheMemory) {
  (void)backend_.device(0).memory();
  (void)backend_.hash();
  (void)backend_.replay_token();
  (void)backend_.leaks();
  std::vector<std::string> subjects;
  for (const SeenOnce& one : seen_.of(Kind::kQueried)) subjects.push_back(one.name);
  EXPECT_THAT(subjects, ElementsAre("memory", "log", "choices", "leaks"));
}

TEST_F(AnObserver, HearsOfVariablesMadeInReplicas) {
  belfry::testing::asserts("SEM-78");
  strategy_.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) strategy_.mirrored_variable([] { return 1.0; }, {.name = "a"});
    if (replica.replica_id() == 0) strategy_.mirrored_variable([] { return 1.0; }, {.name = "b"});
    if (replica.replica_id() == 1) strategy_.mirrored_variable([] { return 1.0; }, {.name = "b"});
    if (replica.replica_id() == 1) strategy_.mirrored_variable([] { return 1.0; }, {.name = "a"});
  });
  EXPECT_THAT(seen_.actors(Kind::kVariableMade), ElementsAre("R0 of run 1", "R0 of run 1"));
  EXPECT_THAT(seen_.actors(Kind::kVariableTaken), ElementsAre("R1 of run 1", "R1 of run 1"));
  std::vector<std::uint64_t> numbers;
  for (const SeenOnce& one : seen_.all) {
    if (one.kind != Kind::kVariableMade && one.kind != Kind::kVariableTaken) continue;
    numbers.push_back(one.record);
  }
  EXPECT_THAT(numbers, ElementsAre(1u, 2u, 2u, 1u));
}

TEST_F(AnObserver, HearsOfCopiesInPlaceOfWrites) {
  belfry::testing::asserts("SEM-194");
  auto x = Tensor<float>::full(Shape{2}, 1.0F, strategy_.placement(1));
  scale(x, 2.0F);
  EXPECT_THAT(seen_.of(Kind::kCopiedOnWrite), IsEmpty());
  const auto second = x;
  scale(x, 2.0F);
  ASSERT_EQ(seen_.of(Kind::kCopiedOnWrite).size(), 1u);
  const SeenOnce copy = seen_.of(Kind::kCopiedOnWrite)[0];
  const SeenOnce fill = seen_.of(Kind::kSubmitted)[0];
  ASSERT_EQ(copy.footprints.size(), 1u);
  EXPECT_EQ(copy.footprints[0].resource, fill.footprints[0].resource);
  EXPECT_EQ(copy.footprints[0].end, 2 * sizeof(float));
  EXPECT_EQ(copy.items.at(0).stream, fill.items.at(0).stream);
}

TEST_F(AnObserver, HearsOfMemoryOfTheProgram) {
  std::vector<float> mine(2, 1.0F);
  const auto over = Tensor<float>::over(Shape{2}, std::span(mine), strategy_.placement(0));
  EXPECT_THAT(seen_.of(Kind::kForeignMemory), SizeIs(1));
}

TEST(EventNames, AreTheSameInEverySchedule) {
  belfry::testing::asserts("SEM-78");
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Seen seen;
    Backend backend{{.devices = 2, .seed = seed}, Attachments{.observer = &seen}};
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) {
      // A copy to another device records two events: its work, and the copy.
      const auto x = Tensor<float>::full(Shape{2}, 1.0F);
      return x.copy_to(strategy.placement(1 - replica.replica_id())).to_host()[0];
    });
    std::vector<std::string> names;
    for (const SeenOnce& one : seen.of(Kind::kRecorded)) {
      EXPECT_EQ(one.event.maker, one.actor);
      EXPECT_EQ(one.record, 1u);
      names.push_back(to_string(one.event.maker) + ' ' + std::to_string(one.event.number));
    }
    EXPECT_THAT(names, UnorderedElementsAre("R0 of run 1 1", "R0 of run 1 2", "R1 of run 1 1",
                                            "R1 of run 1 2"))
        << seed;
  }
}

float program(Backend& backend) {
  MirroredStrategy strategy{backend};
  auto counter = strategy.mirrored_variable([] { return 1.0; });
  const auto results = strategy.run([&](ReplicaContext& replica) {
    auto x = Tensor<float>::full(Shape{2}, 1.0F + static_cast<float>(replica.replica_id()));
    x = replica.all_reduce(ReduceOp::kSum, x);
    scale(x, static_cast<float>(counter.on(replica)));
    return x.copy_to(strategy.placement(0)).to_host()[0];
  });
  return results[1];
}

TEST(AnAttachedObserver, ChangesNoHashAndNoToken) {
  belfry::testing::asserts("SEM-78");
  for (const Carrier carrier : {Carrier::kFiber, Carrier::kBaton}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Options options{
          .devices = 3, .carrier = carrier, .digests = Digests::kAll, .seed = seed};
      Backend alone{options};
      EXPECT_EQ(program(alone), 6.0F);
      Seen seen;
      Backend watched{options, Attachments{.observer = &seen}};
      EXPECT_EQ(program(watched), 6.0F);
      EXPECT_EQ(watched.hash(), alone.hash());
      EXPECT_EQ(watched.log().order_free_hash(), alone.log().order_free_hash());
      EXPECT_EQ(watched.replay_token(), alone.replay_token());
      EXPECT_FALSE(seen.all.empty());
    }
  }
}

// Every item is submitted once, takes effect or passes at most once, and finishes last.
TEST(AnAttachedObserver, SeesEveryItemThrough) {
  enum Stage { kNone, kPut, kEffective, kOver };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Seen seen;
    Backend backend{{.devices = 3, .record = false, .seed = seed}, Attachments{.observer = &seen}};
    program(backend);
    std::map<StreamItem, Stage> stages;
    for (const SeenOnce& one : seen.all) {
      for (const StreamItem& item : one.items) {
        Stage& stage = stages[item];
        switch (one.kind) {
          case Kind::kSubmitted:
          case Kind::kRecorded:
          case Kind::kWaitQueued:
            EXPECT_EQ(stage, kNone);
            stage = kPut;
            break;
          case Kind::kTookEffect:
          case Kind::kReached:
          case Kind::kPassed:
            EXPECT_EQ(stage, kPut);
            stage = kEffective;
            break;
          case Kind::kFinished:
            EXPECT_EQ(stage, kEffective);
            stage = kOver;
            break;
          default:
            break;
        }
      }
    }
    EXPECT_GT(stages.size(), 10u);
  }
}

TEST(AnAttachedObserver, HearsConcurrentReplicasOneAtATime) {
  Seen seen;
  Backend backend{{.devices = 3, .carrier = Carrier::kConcurrent}, Attachments{.observer = &seen}};
  EXPECT_EQ(program(backend), 6.0F);
  std::map<std::string, int> starts;
  for (const SeenOnce& one : seen.of(Kind::kOperation)) {
    starts[to_string(one.actor)] += one.operation == OperationKind::kStart ? 1 : 0;
  }
  for (const char* const replica : {"R0 of run 1", "R1 of run 1", "R2 of run 1"}) {
    EXPECT_EQ(starts[replica], 1) << replica;
  }
}

}  // namespace
}  // namespace belfry::sim::observer_test
