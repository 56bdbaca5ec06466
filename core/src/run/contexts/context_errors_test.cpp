// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Verbs, handles and strategies in wrong contexts.
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace belfry::context_errors_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr CallSite kHere{"train.cc", 11};

class ContextErrors : public ::testing::Test {
 protected:
  HostBackend backend_{2};
  MirroredStrategy strategy_{backend_};
};

TEST_F(ContextErrors, CrossReplicaWorkInsideAReplica) {
  testing::asserts("SEM-14");
  EXPECT_EQ(error_of([&] {
              strategy_.run([&](ReplicaContext& replica) {
                if (replica.replica_id() == 1) strategy_.cross_replica().broadcast(1, kHere);
              });
            }),
            "BF-001 broadcast is cross-replica work, and this is inside a replica\n"
            "  at train.cc:11\n"
            "  replica 1  train.cc:11  called broadcast\n"
            "  hint: do it in the function you pass to merge_call, or outside run");
}

TEST_F(ContextErrors, RunInsideAReplica) {
  EXPECT_THAT(
      error_of([&] {
        strategy_.run([&](ReplicaContext&) { strategy_.run_at(kHere, [](ReplicaContext&) {}); });
      }),
      AllOf(HasSubstr("BF-001"), HasSubstr("run is cross-replica work"), HasSubstr("train.cc:11")));
}

TEST_F(ContextErrors, MergeInsideAMerge) {
  EXPECT_THAT(error_of([&] {
                strategy_.run([](ReplicaContext& replica) {
                  replica.merge_call([&](CrossReplicaContext&) {
                    replica.merge_call([](CrossReplicaContext&) {}, kHere);
                  });
                });
              }),
              AllOf(HasSubstr("BF-014 merge_call through a replica context that is not current"),
                    HasSubstr("train.cc:11"),
                    HasSubstr("hint: a merge function cannot meet again: start another run")));
}

TEST_F(ContextErrors, MergeThroughAnotherReplicasContext) {
  testing::asserts("SEM-14");
  ReplicaContext* first = nullptr;  // Replica 0 waits in its merge while replica 1 uses it.
  const auto body = [&](ReplicaContext& replica) {
    if (replica.replica_id() == 0)
      first = &replica;
    else
      first->all_reduce(ReduceOp::kSum, 1);
    replica.merge_call([](CrossReplicaContext&) {});
  };
  EXPECT_THAT(error_of([&] { strategy_.run({.concurrent = false}, body); }),
              AllOf(HasSubstr("BF-014 all_reduce through a replica context that is not current"),
                    HasSubstr("called all_reduce through a context of replica 0"),
                    HasSubstr("hint: use the ReplicaContext& that this replica's function")));
}

TEST_F(ContextErrors, MergeOnAThreadOfAReplica) {
  std::string text;
  strategy_.run([&](ReplicaContext& replica) {
    if (replica.replica_id() != 0) return;
    std::thread([&] { text = error_of([&] { replica.all_reduce(ReduceOp::kSum, 1); }); }).join();
  });
  EXPECT_THAT(text,
              AllOf(HasSubstr("BF-014"),
                    HasSubstr("hint: merge in the replica function itself, not on a thread")));
}

TEST_F(ContextErrors, VariableThroughAnotherReplicasContext) {
  testing::asserts("SEM-14");
  auto variable = strategy_.mirrored_variable(1, {.name = "weights"});
  ReplicaContext* first = nullptr;
  const auto body = [&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) first = &replica;
    replica.merge_call([](CrossReplicaContext&) {});
    if (replica.replica_id() == 1) variable.on(*first);
    replica.merge_call([](CrossReplicaContext&) {});
  };
  EXPECT_THAT(error_of([&] { strategy_.run({.concurrent = false}, body); }),
              AllOf(HasSubstr("BF-001 weights was asked for through a replica context"),
                    HasSubstr("hint: use the ReplicaContext& that this replica's function")));
}

TEST_F(ContextErrors, MergeInANestedRunThroughTheOuterReplica) {
  testing::asserts("SEM-9");
  EXPECT_THAT(error_of([&] {
                strategy_.run([](ReplicaContext& outer) {
                  outer.merge_call([&](CrossReplicaContext& cross) {
                    cross.run([&](ReplicaContext&) { outer.all_reduce(ReduceOp::kSum, 1); });
                  });
                });
              }),
              HasSubstr("BF-014"));
}

TEST_F(ContextErrors, VariableOfAMergeThroughAReplica) {
  auto variable = strategy_.mirrored_variable(1, {.name = "weights"});
  EXPECT_THAT(error_of([&] {
                strategy_.run([&](ReplicaContext& replica) {
                  replica.merge_call([&](CrossReplicaContext&) { variable.on(replica, kHere); });
                });
              }),
              AllOf(HasSubstr("BF-001"), HasSubstr("weights"), HasSubstr("train.cc:11")));
}

TEST_F(ContextErrors, AnotherThreadRunsABusyStrategy) {
  testing::asserts("SEM-9");
  std::string text;
  strategy_.run([&](ReplicaContext& replica) {
    if (replica.replica_id() != 0) return;
    std::thread second(
        [&] { text = error_of([&] { strategy_.run_at(kHere, [](ReplicaContext&) {}); }); });
    second.join();
  });
  EXPECT_THAT(
      text, AllOf(HasSubstr("BF-002 this strategy is running already"), HasSubstr("train.cc:11")));
  // After the run a third thread may begin a run.
  std::thread third([&] { strategy_.run([](ReplicaContext&) {}); });
  third.join();
}

// The backend's carrier is for a single thread at a time.
TEST_F(ContextErrors, AnotherThreadRunsOnTheBackendOfARun) {
  testing::asserts("SEM-9");
  MirroredStrategy other(backend_);
  std::string text;
  strategy_.run([&](ReplicaContext& replica) {
    if (replica.replica_id() != 0) return;
    std::thread second([&] { text = error_of([&] { other.run([](ReplicaContext&) {}); }); });
    second.join();
  });
  EXPECT_THAT(text, AllOf(HasSubstr("BF-002 another thread runs on this backend"),
                          HasSubstr("concurrent carrier")));
  // In turns they may.
  std::thread third([&] { other.run([](ReplicaContext&) {}); });
  third.join();
}

TEST_F(ContextErrors, WorkOfAnotherStrategyInsideARun) {
  testing::asserts("SEM-14");
  MirroredStrategy other(backend_);
  EXPECT_THAT(error_of([&] {
                strategy_.run([&](ReplicaContext& replica) {
                  replica.merge_call(
                      [&](CrossReplicaContext&) { other.cross_replica().broadcast(1, kHere); });
                });
              }),
              AllOf(HasSubstr("BF-004"),
                    HasSubstr("broadcast of one strategy inside the context "
                              "of another"),
                    HasSubstr("train.cc:11")));
}

TEST_F(ContextErrors, VariableOfAnotherStrategy) {
  testing::asserts("SEM-14", "SEM-44");
  MirroredStrategy other(backend_);
  auto foreign = other.mirrored_variable(1, {.name = "theirs"}, {"model.cc", 5});
  const auto is_refused = AllOf(HasSubstr("BF-004 theirs belongs to another strategy"),
                                HasSubstr("it was made at model.cc:5"), HasSubstr("train.cc:11"));
  EXPECT_THAT(error_of([&] { strategy_.read(foreign, kHere); }), is_refused);
  EXPECT_THAT(error_of([&] {
                strategy_.run([&](ReplicaContext& replica) { foreign.on(replica, kHere); });
              }),
              is_refused);
  EXPECT_THAT(error_of([&] { strategy_.cross_replica().update(foreign, [](int&) {}, kHere); }),
              is_refused);
}

TEST_F(ContextErrors, HandleOfNoVariable) {
  testing::asserts("SEM-44");
  const MirroredVariable<int> mirrored;
  const ReplicaLocalVariable<int> local;
  const auto is_refused = HasSubstr("BF-052 a default-constructed variable handle was used");
  EXPECT_THAT(error_of([&] { strategy_.read(mirrored); }), is_refused);
  EXPECT_THAT(error_of([&] { strategy_.read(local); }), is_refused);
  EXPECT_THAT(error_of([&] { static_cast<void>(mirrored.name()); }), is_refused);
  EXPECT_THAT(error_of([&] {
                strategy_.run([&](ReplicaContext& replica) { replica.assign(mirrored, 1); });
              }),
              is_refused);
}

TEST_F(ContextErrors, AssignmentWithoutAnAggregation) {
  testing::asserts("SEM-45");
  auto variable = strategy_.mirrored_variable(1, {.name = "step"}, {"model.cc", 5});
  EXPECT_THAT(
      error_of([&] {
        strategy_.run([&](ReplicaContext& replica) { replica.assign(variable, 2, kHere); });
      }),
      AllOf(HasSubstr("BF-036 mirrored step was assigned in a replica, and has no "
                      "aggregation"),
            HasSubstr("train.cc:11"),
            HasSubstr("make it (model.cc:5) with {.aggregation = Aggregation::kSum, kMean, kMax, "
                      "kMin, kProd or kOnlyFirst}")));
  EXPECT_EQ(strategy_.read(variable), 1);
}

TEST_F(ContextErrors, DeviceThatIsNotTheStrategys) {
  HostBackend larger(3);
  MirroredStrategy two(larger, {.devices = {larger.device_spec(0), larger.device_spec(2)}});
  EXPECT_THAT(
      error_of([&] { two.cross_replica().update_non_slot({larger.device_spec(1)}, [] {}, kHere); }),
      AllOf(HasSubstr("BF-038"), HasSubstr("is not a device of this strategy"),
            HasSubstr("train.cc:11")));
}

TEST_F(ContextErrors, ComponentThatIsNotThere) {
  const PerReplica<int> values{1, 2};
  EXPECT_THROW(values[2], InvalidArgumentError);
  EXPECT_THROW(values[-1], InvalidArgumentError);
  EXPECT_THROW(strategy_.cross_replica().broadcast(1)[2], InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::context_errors_test
