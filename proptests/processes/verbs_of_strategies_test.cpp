// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Each function of a strategy, and of checkpoints, over three hosts: docs/processes.md#verbs.
// Outcomes are worked out by hand.
#include "belfry/belfry.h"
#include "belfry/cross_device_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "processes/hosts.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing::verbs_of_strategies {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Batch = std::vector<int>;

TEST(StrategyVerbs, Run) {
  testing::asserts("SEM-150");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto ids = strategy.run([](ReplicaContext& replica) { return replica.replica_id(); });
    const std::vector<int> own = part_of(host.group().rank(), std::vector{0, 1, 2, 3, 4, 5});
    EXPECT_EQ(elements_of(ids), own);
    // The results are arguments of the next run.
    const auto doubled = strategy.run([](ReplicaContext&, int id) { return 2 * id; }, ids);
    EXPECT_EQ(*doubled.begin(), 2 * own.front());
  });
}

TEST(StrategyVerbs, AskForDevices) {
  on_host_one([](MultiWorkerMirroredStrategy& strategy) {
    const DeviceSpec only = strategy.backend().device_spec(0);
    EXPECT_EQ(strategy.num_replicas(), 6);
    EXPECT_THAT(strategy.worker_devices(), ElementsAre(only));
    EXPECT_THAT(strategy.devices(), ElementsAre(only));
    EXPECT_THAT(strategy.parameter_devices(), ElementsAre(only));
    EXPECT_THAT(strategy.non_slot_devices(), ElementsAre(only));
    EXPECT_THAT(elements_of(strategy.worker_device_index()), ElementsAre(0));
    EXPECT_EQ(strategy.placement(2).device, 0);
    EXPECT_THROW(strategy.placement(3), InvalidArgumentError);  // Of process 2.
    const Scope scope = strategy.scope();
    EXPECT_EQ(&strategy.cross_replica().strategy(), &strategy);
  });
}

TEST(StrategyVerbs, DistributeDataset) {
  testing::asserts("SEM-185");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto steps = strategy.distribute_dataset(Dataset<int>::range(8).batch(8),
                                                   {.end_of_data = EndOfData::kDropPartialStep});
    const auto first = steps.begin();
    // Eight elements for six replicas: the first two replicas get two.
    EXPECT_EQ(elements_of(*first),
              part_of(host.group().rank(), std::vector<Batch>{{0, 1}, {2, 3}, {4}, {5}, {6}, {7}}));
  });
}

TEST(StrategyVerbs, DistributeDatasetsFromFunction) {
  testing::asserts("SEM-185");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto make = [](const InputContext& context) {
      EXPECT_EQ(context.num_input_pipelines, 3);
      EXPECT_EQ(context.num_replicas_in_sync, 6);
      const int pipeline = context.input_pipeline_id;
      return Dataset<int>::range(3).map([pipeline](int i) { return 10 * pipeline + i; }).batch(1);
    };
    const auto steps = strategy.distribute_datasets_from_function(
        make, {.end_of_data = EndOfData::kDropPartialStep});
    const auto first = steps.begin();
    // The replicas of a process take the elements of the function of their process.
    EXPECT_EQ(elements_of(*first),
              part_of(host.group().rank(), std::vector<Batch>{{0}, {1}, {10}, {20}, {21}, {22}}));
  });
}

TEST(StrategyVerbs, DistributeADatasetThatMasksReplicas) {
  testing::asserts("SEM-185");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    // Eight numbers for six replicas: 0 to 5, then 6 and 7 for the replicas 0 and 1.
    const auto numbers = Dataset<int>::range(8).batch(6);
    std::vector<std::vector<int>> shares;
    for (const auto& step :
         strategy.distribute_dataset(numbers, {.end_of_data = EndOfData::kMaskReplicas})) {
      for (const std::vector<int>& share : step) shares.push_back(share);
    }
    const std::vector<std::vector<int>> all[] = {{{0}, {1}, {6}, {7}}, {{2}}, {{3}, {4}, {5}}};
    EXPECT_EQ(shares, all[host.group().rank()]);
  });
}

TEST(StrategyVerbs, DistributeValues) {
  on_host_one([](MultiWorkerMirroredStrategy& strategy) {
    EXPECT_THAT(elements_of(strategy.distribute_values([](int id) { return 10 * id; })),
                ElementsAre(20));
    const auto of_contexts = strategy.distribute_values_from_function(
        [](const ValueContext& context) { return context.num_replicas_in_sync; });
    EXPECT_THAT(elements_of(of_contexts), ElementsAre(6));
  });
}

TEST(StrategyVerbs, MakeVariables) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const int rank = host.group().rank();
    int calls = 0;
    const auto first = [&] {
      ++calls;
      return 7 + rank;
    };
    const auto made = strategy.mirrored_variable(first);
    EXPECT_EQ(strategy.read(made), 7);
    EXPECT_THAT(strategy.local_values(made), Each(7));
    EXPECT_EQ(strategy.read(strategy.replica_local_variable(ReduceOp::kSum, first)), 42);
    const VariableScope local = strategy.replica_local_variable_scope(ReduceOp::kSum);
    EXPECT_EQ(strategy.read(strategy.variable(first)), 42);
    EXPECT_EQ(calls, rank == 0 ? 3 : 0);
  });
}

TEST(StrategyVerbs, OpenVariableScopes) {
  on_host_one([](MultiWorkerMirroredStrategy& strategy) {
    const VariableScope creator =
        strategy.variable_creator_scope([](VariableOptions& options) { options.name = "other"; });
    const VariableScope devices = strategy.colocate_variables_with(strategy.worker_devices());
  });
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto one = strategy.mirrored_variable(1);
    const VariableScope beside = strategy.colocate_variables_with(one);
    EXPECT_TRUE(strategy.created_in_scope(strategy.mirrored_variable(2)));
  });
}

TEST(StrategyVerbs, RefuseVariablesOnSomeDevices) {
  testing::asserts("SEM-156");
  EXPECT_THAT(texts_on_hosts<UnsupportedError>([](auto& strategy, sim::Host&) {
                const VariableScope scope =
                    strategy.one_device_variable_scope(strategy.worker_devices().front());
              }),
              Each(HasSubstr("BF-080")));
  // The only device of process 1 is all devices of process 1.
  const auto texts = texts_on_hosts<UnsupportedError>([](auto& strategy, sim::Host&) {
    const VariableScope scope =
        strategy.colocate_variables_with(std::vector{strategy.worker_devices().front()});
  });
  EXPECT_THAT(texts, ElementsAre(HasSubstr("BF-080"), "nothing was thrown", HasSubstr("BF-080")));
}

TEST(StrategyVerbs, ReadAReplicaLocalVariable) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto mean = strategy.replica_local_variable(ReduceOp::kMean, 0.0);
    strategy.run([&](ReplicaContext& replica) { replica.assign(mean, value_of(replica)); });
    EXPECT_EQ(strategy.read(mean), 3.5);
  });
}

TEST(StrategyVerbs, ReadAMirroredVariable) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto mirrored = strategy.mirrored_variable(5);
    if (host.group().rank() == 1) {
      EXPECT_EQ(strategy.read(mirrored), 5);
      EXPECT_THAT(strategy.local_results(mirrored), ElementsAre(5));
      EXPECT_THAT(elements_of(strategy.local_values(mirrored)), ElementsAre(5));
    }
  });
}

TEST(StrategyVerbs, Transaction) {
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto local = strategy.replica_local_variable(ReduceOp::kSum, 1);
    strategy.transaction([&] { strategy.cross_replica().assign_each(local, 9); });
    EXPECT_EQ(strategy.read(local), 54);
  });
}

TEST(StrategyVerbs, Configure) {
  testing::asserts("SEM-150");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    strategy.configure({.report_overflow = true});
    EXPECT_TRUE(strategy.options().report_overflow);
    EXPECT_THROW(strategy.run([](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, std::int8_t{100});
    }),
                 InvalidArgumentError);
  });
}

TEST(StrategyVerbs, ConfigureWithOptionsThatDiffer) {
  testing::asserts("SEM-150");
  at_each_place(3, [](int odd) {
    const auto orders = texts_on_hosts<InvalidArgumentError>([&](auto& strategy, auto& host) {
      const bool is_odd = host.group().rank() == odd;
      strategy.configure({.order = is_odd ? ReductionOrder::kTree : ReductionOrder::kReplicaOrder});
    });
    EXPECT_THAT(orders, Each(AllOf(HasSubstr("BF-030"), HasSubstr("tree, "),
                                   HasSubstr("in process " + std::to_string(odd)))));
    const auto algorithms = texts_on_hosts<InvalidArgumentError>([&](auto& strategy, auto& host) {
      StrategyOptions options;
      if (host.group().rank() == odd) {
        options.cross_device_ops = std::make_shared<ReductionToOneDevice>();
      }
      strategy.configure(options);
    });
    EXPECT_THAT(algorithms,
                Each(AllOf(HasSubstr("algorithm native"), HasSubstr("algorithm to one device"))));
  });
}

TEST(StrategyVerbs, CountAndReport) {
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const bool is_one = host.group().rank() == 1;
    EXPECT_THROW(strategy.run([&](ReplicaContext&) {
      if (is_one) throw std::out_of_range("row 9");
    }),
                 std::exception);
    ASSERT_TRUE(strategy.last_failure().has_value());
    EXPECT_THAT(strategy.last_failure()->summary, HasSubstr("row 9"));
    EXPECT_GT(strategy.statistics().runs, 0U);
  });
}

// A sum and a table, with the values that a file has.
struct Saved {
  explicit Saved(Strategy& strategy)
      : sum(strategy.replica_local_variable(ReduceOp::kSum, 4, {.name = "sum"})),
        table(strategy.mirrored_variable([] { return Tensor<float>::full({2}, 3); },
                                         {.name = "table"})),
        file(strategy) {
    file.add(sum).add(table);
  }

  ReplicaLocalVariable<int> sum;
  MirroredVariable<Tensor<float>> table;
  Checkpoint file;
};

TEST(StrategyVerbs, SaveAndRestore) {
  testing::asserts("SEM-159");
  const TemporaryFolder folder;
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    Saved saved(strategy);
    saved.file.save(folder / "weights");
    strategy.cross_replica().assign_each(saved.sum, 0);
    saved.file.restore(folder / "weights");
    EXPECT_EQ(strategy.read(saved.sum), 24);  // Six times 4.
  });
  EXPECT_THAT(folder.names(), ElementsAre(StartsWith(".weights.belfry-owner-"), "weights"));
}

TEST(StrategyVerbs, RestoreContents) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    Saved saved(strategy);
    const TensorFile contents = saved.file.contents();
    EXPECT_EQ(contents.tensors.at("sum").bytes.front(), std::byte{24});
    strategy.cross_replica().assign_each(saved.sum, 0);
    saved.file.restore(contents);
    const auto expect_unchanged = [&] {
      EXPECT_EQ(strategy.read(saved.sum), 24);
      EXPECT_THAT(strategy.read(saved.table).to_host(), ElementsAre(3, 3));
    };
    expect_unchanged();
    at_each_place(3, [&](int odd) {
      const bool is_odd = host.group().rank() == odd;
      // The first byte of the first array, or the last byte of the last, in process `odd` alone.
      for (const bool is_last : {false, true}) {
        TensorFile other = contents;
        auto& bytes = other.tensors.at(is_last ? "table" : "sum").bytes;
        if (is_odd) (is_last ? bytes.back() : bytes.front()) = std::byte{65};
        EXPECT_THROW(saved.file.restore(other), InvalidArgumentError);
        expect_unchanged();
      }
      TensorFile lacking = contents;
      if (is_odd) {
        lacking.tensors.erase("sum");
        EXPECT_THROW(saved.file.restore(lacking), VariableMismatchError);
      } else {
        EXPECT_THROW(saved.file.restore(lacking), PeerFailedError);
      }
      expect_unchanged();
    });
  });
}

TEST(StrategyVerbs, RefuseTypesThatCannotBeSent) {
  testing::asserts("SEM-156");
  EXPECT_THAT(texts_on_hosts<UnsupportedError>([](auto& strategy, sim::Host&) {
                strategy.mirrored_variable(std::make_shared<int>(1));
              }),
              Each(HasSubstr("BF-080")));
}

}  // namespace
}  // namespace belfry::testing::verbs_of_strategies
