// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The simulator's log of variables that replicas ask for (SEM-60).
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace belfry::sim::variable_log_test {
namespace {

using ::testing::ElementsAre;

class VariablesInTheLog : public ::testing::Test {
 protected:
  // The accesses to variables in a run of `body`, in serial order.
  std::vector<std::string> accesses(const std::function<void(ReplicaContext&)>& body) {
    const std::size_t before = backend_.log().records().size();
    strategy_.run({.concurrent = false}, body);
    std::vector<std::string> found;
    for (std::size_t i = before; i < backend_.log().records().size(); ++i) {
      const LogRecord& record = backend_.log().records()[i];
      if (record.kind != OperationKind::kVariableRead &&
          record.kind != OperationKind::kVariableWrite) {
        continue;
      }
      found.push_back(to_string(record.agent()) + " " + to_string(record.kind) + " " +
                      std::to_string(record.subject));
    }
    return found;
  }

  Backend backend_{{.devices = 2}};
  MirroredStrategy strategy_{backend_};
  MirroredVariable<double> first_ = strategy_.mirrored_variable(1.0);
  MirroredVariable<double> second_ = strategy_.mirrored_variable(2.0);
  ReplicaLocalVariable<double> local_ = strategy_.replica_local_variable(ReduceOp::kSum, 0.0);
};

// A mirrored component is `const`, and a replica-local one may be written.
TEST_F(VariablesInTheLog, AMirroredComponentIsReadAndAReplicaLocalOneWritten) {
  EXPECT_THAT(accesses([&](ReplicaContext& replica) { second_.on(replica); }),
              ElementsAre("R0 variable_read 1", "R1 variable_read 1"));
  EXPECT_THAT(accesses([&](ReplicaContext& replica) {
                first_.on(replica);
                local_.on(replica) = 3;
              }),
              ElementsAre("R0 variable_read 0", "R0 variable_write 2", "R1 variable_read 0",
                          "R1 variable_write 2"));
}

}  // namespace
}  // namespace belfry::sim::variable_log_test
