// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The steps of replicas and merges in the log of a run (SEM-77).
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::run_log_test {
namespace {

using ::testing::ElementsAre;

// `R0 arrive 1 of 2` is the arrival of replica 0 at the first merge of the second run.
std::vector<std::string> steps_of(const Log& log) {
  std::vector<std::string> steps;
  for (const LogRecord& record : log.records()) {
    if (record.agent_kind == AgentId::Kind::kStream || record.agent_kind == AgentId::Kind::kHost) {
      continue;
    }
    std::string step = to_string(record.agent()) + " " + to_string(record.kind);
    if (record.kind != OperationKind::kStart) {
      step += " " + std::to_string(record.subject) + " of " + std::to_string(record.value);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

TEST(RunsInTheLog, HaveAStepForEachArrivalMergeResumptionAndEnd) {
  Backend backend{{.devices = 2, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy{backend};
  const auto first = strategy.mirrored_variable(1.0);
  const auto weights = strategy.mirrored_variable(1.0);
  const auto count = strategy.replica_local_variable(ReduceOp::kSum, 0.0);
  strategy.run([](ReplicaContext&) {});
  EXPECT_THROW(strategy.run([&](ReplicaContext& replica) {
    weights.on(replica);  // `const`, and a component of replica-local variables may be written.
    count.on(replica) = 1;
    replica.all_reduce(ReduceOp::kSum, 1.0);
    replica.all_reduce(ReduceOp::kSum, 1.0);
    if (replica.replica_id() == 1) throw std::runtime_error("on purpose");
  }),
               std::runtime_error);
  EXPECT_THAT(
      steps_of(backend.log()),
      ElementsAre("R0 start", "R0 end 0 of 1", "R1 start", "R1 end 0 of 1",  //
                  "R0 start", "R0 variable_read 1 of 2", "R0 variable_write 2 of 2",
                  "R0 arrive 1 of 2", "R1 start", "R1 variable_read 1 of 2",
                  "R1 variable_write 2 of 2", "R1 arrive 1 of 2",
                  "M0 merge 1 of 2",  //
                  "R0 resume 1 of 2", "R0 arrive 2 of 2", "R1 resume 1 of 2", "R1 arrive 2 of 2",
                  "M0 merge 2 of 2",  //
                  "R0 resume 2 of 2", "R0 end 2 of 2", "R1 resume 2 of 2", "R1 throw 2 of 2"));
}

// Replica 1 is first, and waits for replica 0 to make the variable.
TEST(RunsInTheLog, HaveAWaitForAVariableThatAnotherReplicaMakes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Backend backend{{.devices = 2, .seed = seed}};
    MirroredStrategy strategy{backend};
    strategy.run([&](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, 1.0);
      strategy.mirrored_variable(1.0);
    });
    for (const std::string& step : steps_of(backend.log())) {
      if (step.starts_with("R1 wait")) {
        EXPECT_EQ(step, "R1 wait 1 of 1");
        return;
      }
    }
  }
  FAIL() << "replica 1 never was first";
}

}  // namespace
}  // namespace belfry::sim::run_log_test
