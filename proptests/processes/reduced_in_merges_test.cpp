// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// reduce and broadcast in merges over two processes of two replicas each: how often the processes
// exchange messages, and values that hosts cannot reduce at once.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/thread_group.h"
#include "processes/counting_group.h"
#include "processes/two_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace belfry::testing::reduced_in_merges {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// The exchanges of a process in a run with one merge of `value`.
template <class Value, class Merge>
void expect_exchanges(int expected, const Value& value, const Merge& merge) {
  run_processes(2, [&](ProcessGroup& group) {
    sim::Backend backend{{.devices = 2, .seed = 7}};
    CountingGroup counting{group};
    MultiWorkerMirroredStrategy strategy{backend, counting};
    counting.exchanges = 0;
    strategy.run([&](ReplicaContext& replica) { replica.merge_call(merge, value()); });
    EXPECT_EQ(counting.exchanges, expected);
  });
}

// The round of the merge, the verb, and the end of the run.
TEST(ReducedInMerges, ExchangeMessagesOnce) {
  testing::asserts("SEM-153");
  const auto reduce = [](CrossReplicaContext& cross, const auto& values) {
    cross.reduce(ReduceOp::kSum, values);
  };
  expect_exchanges(3, [] { return 1.0; }, reduce);
  expect_exchanges(3, [] { return std::vector<float>(500); }, reduce);
  expect_exchanges(3, [] { return Tensor<float>::full({500}, 1.0F); }, reduce);
  const auto broadcast = [](CrossReplicaContext& cross, const PerReplica<double>& values) {
    cross.broadcast(*values.begin());
  };
  expect_exchanges(3, [] { return 1.0; }, broadcast);
}

// Replica r has the value 1 + r.
TEST(ReducedInMerges, LeaveOutProcessesWithoutAComponent) {
  testing::asserts("SEM-153");
  with_strategies([](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    for (int without = 0; without < 2; ++without) {
      std::vector<std::optional<double>> values(4);
      for (int replica = 0; replica < 4; ++replica) {
        if (replica / 2 != without) values[static_cast<std::size_t>(replica)] = 1.0 + replica;
      }
      CrossReplicaContext& cross = strategy.cross_replica();
      const auto sum = cross.reduce(ReduceOp::kSum, PerReplica<double>::from(values));
      EXPECT_EQ(sum.value(), without == 0 ? 7 : 3);  // 3 + 4; 1 + 2.
    }
  });
}

// The tensors of one process are long, those of the other short or none: one process would exchange
// parts.
TEST(ReducedInMerges, RefuseDifferentStructuresInAllProcesses) {
  testing::asserts("SEM-154");
  for (int odd = 0; odd < 2; ++odd) {
    for (const std::size_t tensors : {0, 1}) {
      const auto texts = texts_of_run<StructureMismatchError>([&](ReplicaContext& replica) {
        const bool is_odd = replica.replica_id() / 2 == odd;
        std::vector<Tensor<float>> own(is_odd ? tensors : 1, Tensor<float>::zeros({500}));
        if (is_odd && tensors == 1) own[0] = Tensor<float>::zeros({2});
        const auto reduce = [](CrossReplicaContext& cross, const auto& values) {
          cross.reduce(ReduceOp::kSum, values);
        };
        replica.merge_call(reduce, own);
      });
      EXPECT_THAT(texts, Each(HasSubstr("different structure")));
    }
  }
}

}  // namespace
}  // namespace belfry::testing::reduced_in_merges
