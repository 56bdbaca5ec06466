// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Each verb of the cross-replica context over three hosts: docs/processes.md#verbs. Outcomes are
// worked out by hand.
#include "belfry/belfry.h"
#include "belfry/current.h"
#include "belfry/indexed_slices.h"
#include "belfry/scatter.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/vjp.h"
#include "processes/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belfry::testing::verbs_of_merges {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The value 1 + r for replica r.
PerReplica<double> values(Strategy& strategy) {
  return strategy.distribute_values([](int id) { return 1.0 + id; });
}

PerReplica<std::vector<double>> lists(Strategy& strategy) {
  return strategy.distribute_values([](int id) { return std::vector{1.0 + id}; });
}

void between_runs(const std::function<void(CrossReplicaContext&, sim::Host&)>& body) {
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    body(strategy.cross_replica(), host);
  });
}

TEST(MergeVerbs, Reduce) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host&) {
    EXPECT_EQ(cross.num_replicas(), 6);
    EXPECT_EQ(cross.reduce(ReduceOp::kSum, values(cross.strategy())).value(), 21);
    const auto tensors =
        cross.strategy().distribute_values([](int id) { return Tensor<float>::full({2}, id); });
    const Mirrored<Tensor<float>> mean = cross.reduce(ReduceOp::kMean, tensors);
    EXPECT_THAT(mean.value().to_host(), ElementsAre(2.5, 2.5));
  });
}

TEST(MergeVerbs, ReduceToADestination) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host& host) {
    const auto tensors =
        cross.strategy().distribute_values([](int id) { return Tensor<float>::full({1}, id); });
    const DeviceSpec last = cross.devices().back();
    const MirroredOn<Tensor<float>> sum = cross.reduce(ReduceOp::kSum, tensors, last);
    ASSERT_EQ(sum.size(), 1);
    EXPECT_EQ(sum[0].item(), 15);
    // The last device of this process.
    EXPECT_EQ(sum[0].placement().device, host.backend().device_count() - 1);
  });
}

TEST(MergeVerbs, ReduceAlongAnAxis) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host&) {
    // Replica r brings r elements r: 55 in 15 elements.
    const auto own = cross.strategy().distribute_values(
        [](int id) { return std::vector<double>(static_cast<std::size_t>(id), id); });
    EXPECT_DOUBLE_EQ(cross.reduce(ReduceOp::kMean, own, Axis(0)).value(), 55.0 / 15);
  });
}

TEST(MergeVerbs, ReduceAMirroredValue) {
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    CrossReplicaContext& cross = strategy.cross_replica();
    const Mirrored<double> sum = cross.reduce(ReduceOp::kSum, values(strategy));
    if (host.group().rank() == 1) {
      EXPECT_EQ(cross.reduce(ReduceOp::kMean, sum).value(), 21);
    }
  });
}

TEST(MergeVerbs, BatchReduce) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host&) {
    const auto [sum, lists_sum] =
        cross.batch_reduce(ReduceOp::kSum, values(cross.strategy()), lists(cross.strategy()));
    EXPECT_EQ(sum.value(), 21);
    EXPECT_THAT(lists_sum.value(), ElementsAre(21));
  });
}

TEST(MergeVerbs, Map) {
  on_host_one([](MultiWorkerMirroredStrategy& strategy) {
    // Element 2 of eight belongs to replica 2, the replica of process 1.
    const auto squares = strategy.cross_replica().map(std::vector{0, 1, 2, 3, 4, 5, 6, 7},
                                                      [](int i) { return i * i; });
    EXPECT_THAT(elements_of(squares), ElementsAre(ElementsAre(4)));
  });
}

TEST(MergeVerbs, ReduceMapped) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host&) {
    const auto squares =
        cross.map(std::vector{0, 1, 2, 3, 4, 5, 6, 7}, [](int i) { return double(i) * i; });
    EXPECT_EQ(cross.reduce_mapped(ReduceOp::kSum, squares).value(), 140);
    EXPECT_EQ(cross.reduce_mapped(ReduceOp::kMean, squares).value(), 140.0 / 8);
  });
}

TEST(MergeVerbs, Gather) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host&) {
    EXPECT_THAT(cross.gather(lists(cross.strategy())), ElementsAre(1, 2, 3, 4, 5, 6));
    const auto names = cross.strategy().distribute_values(
        [](int id) { return std::vector<std::string>(id == 2 ? 2 : 0, "of two"); });
    EXPECT_THAT(cross.gather(names), ElementsAre("of two", "of two"));
  });
}

TEST(MergeVerbs, Broadcast) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host& host) {
    const int rank = host.group().rank();
    EXPECT_EQ(cross.broadcast(7 + rank).value(), 7);
    const DeviceSpec last = cross.devices().back();
    const Scope scope = cross.strategy().scope();
    const auto tensor = cross.broadcast(Tensor<float>::full({2}, float(8 + rank)), last);
    EXPECT_THAT(tensor[0].to_host(), ElementsAre(8, 8));
    EXPECT_EQ(tensor[0].placement().device, host.backend().device_count() - 1);
  });
}

TEST(MergeVerbs, FetchAReplicaLocalVariable) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto local = strategy.replica_local_variable(ReduceOp::kSum, 3);
    EXPECT_EQ(strategy.cross_replica().fetch(local, [](int sum) { return sum + 1; }), 19);
  });
}

TEST(MergeVerbs, FetchAMirroredVariable) {
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto mirrored = strategy.mirrored_variable(5);
    if (host.group().rank() == 1) {
      EXPECT_EQ(strategy.cross_replica().fetch(mirrored), 5);
    }
  });
}

TEST(MergeVerbs, GroupAndLocalResults) {
  on_host_one([](MultiWorkerMirroredStrategy& strategy) {
    CrossReplicaContext& cross = strategy.cross_replica();
    const auto own = strategy.distribute_values([](int id) { return Tensor<int>::full({1}, id); });
    cross.group(own).wait();
    EXPECT_EQ(cross.local_results(own).size(), 1U);
    EXPECT_EQ(cross.local_results(own).front().item(), 2);
  });
}

TEST(MergeVerbs, Update) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    CrossReplicaContext& cross = strategy.cross_replica();
    const auto weight = strategy.mirrored_variable(10.0);
    int calls = 0;
    const auto by = [&](double& w, double mean) {
      ++calls;
      return w -= mean;
    };
    const Mirrored<double> after =
        cross.update(weight, by, cross.reduce(ReduceOp::kMean, values(strategy)));
    EXPECT_EQ(after.value(), 6.5);
    EXPECT_EQ(calls, host.backend().device_count());  // Once for each replica of this process.
    const std::vector<double> each = cross.update_each(weight, by, 0.5);
    EXPECT_THAT(each, Each(6.0));
    EXPECT_EQ(each.size(), static_cast<std::size_t>(host.backend().device_count()));
    EXPECT_EQ(strategy.read(weight), 6);
  });
}

TEST(MergeVerbs, UpdateComparesTensorsOfProcesses) {
  testing::asserts("SEM-159");
  at_each_place(6, [](int odd) {
    const auto texts = texts_on_hosts<VariableMismatchError>([&](auto& strategy, sim::Host&) {
      const auto weight =
          strategy.mirrored_variable([] { return Tensor<float>::zeros({2}); }, {.name = "weight"});
      strategy.run([&](ReplicaContext& replica) {
        replica.merge_call(
            [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& own) {
              // The value of a replica of the process, in place of a reduction.
              const Tensor<float> used = own.has(odd) ? own[odd] : *own.begin();
              cross.update(
                  weight, [](Tensor<float>& w, const Tensor<float>& by) { w = w + by; }, used);
            },
            Tensor<float>::full({2}, replica.replica_id() == odd ? 2.0F : 1.0F));
      });
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-053"), HasSubstr("weight"))));
  });
}

TEST(MergeVerbs, UpdateAReplicaLocalVariable) {
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto local = strategy.replica_local_variable(ReduceOp::kSum, 1);
    if (host.group().rank() == 1) {
      strategy.cross_replica().update(local, [](int& component) { component = 5; });
    }
    EXPECT_EQ(strategy.read(local), 10);  // Five times 1, and 5.
  });
}

TEST(MergeVerbs, UpdateNonSlot) {
  on_host_one([](MultiWorkerMirroredStrategy& strategy) {
    const auto results = strategy.cross_replica().update_non_slot(
        strategy.worker_devices(), [] { return current_update_device()->index + 1; });
    ASSERT_EQ(results.size(), 1);
    EXPECT_EQ(results[0], 1);
  });
}

TEST(MergeVerbs, AssignEach) {
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto local = strategy.replica_local_variable(ReduceOp::kSum, 1);
    if (host.group().rank() == 1) strategy.cross_replica().assign_each(local, 5);
    EXPECT_EQ(strategy.read(local), 10);  // Five times 1, and 5.
  });
}

TEST(MergeVerbs, AssignTotal) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    const auto local = strategy.replica_local_variable(ReduceOp::kSum, 0);
    strategy.cross_replica().assign_total(local, 7);
    EXPECT_EQ(elements_of(strategy.local_values(local)),
              part_of(host.group().rank(), std::vector{7, 0, 0, 0, 0, 0}));
    strategy.cross_replica().assign_total(local, 10, SumSplit::kDivide);
    EXPECT_EQ(elements_of(strategy.local_values(local)),
              part_of(host.group().rank(), std::vector{2, 2, 2, 2, 1, 1}));
    EXPECT_EQ(strategy.read(local), 10);
  });
}

TEST(MergeVerbs, AssignTotalComparesTotalsOfProcesses) {
  testing::asserts("SEM-159");
  at_each_place(6, [](int place) {
    const int odd = place / 2;
    const bool in_a_run = place % 2 == 1;
    const auto texts = texts_on_hosts<VariableMismatchError>([&](auto& strategy, sim::Host& host) {
      const auto local = strategy.replica_local_variable(ReduceOp::kSum, std::vector{3, 3});
      const std::vector<int> total{7, host.group().rank() == odd ? 8 : 7};
      const auto assign = [&](CrossReplicaContext& cross) { cross.assign_total(local, total); };
      try {
        if (in_a_run) {
          strategy.run([&](ReplicaContext& replica) { replica.merge_call(assign); });
        } else {
          assign(strategy.cross_replica());
        }
      } catch (...) {
        // No component has changed.
        EXPECT_THAT(strategy.local_values(local), Each(ElementsAre(3, 3)));
        throw;
      }
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-053"), HasSubstr("the totals that are assigned to"),
                                  HasSubstr("the same total in every process"))));
  });
}

TEST(MergeVerbs, ReduceSlices) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host&) {
    const auto rows = cross.strategy().distribute_values([](int id) {
      return indexed_slices(Tensor<float>::full({1, 1}, float(6 * id)),
                            Tensor<std::int64_t>::full({1}, id / 2), Shape{3, 1});
    });
    // Rows 0, 1 and 2 get 0 + 1, 2 + 3 and 4 + 5.
    EXPECT_THAT(to_dense(reduce_slices(cross, ReduceOp::kMean, rows).value()).to_host(),
                ElementsAre(1, 5, 9));
  });
}

TEST(MergeVerbs, Scatter) {
  testing::asserts("SEM-159");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const auto table = strategy.mirrored_variable([] { return Tensor<float>::zeros({3, 1}); });
    const Scope scope = strategy.scope();
    const auto row = indexed_slices(Tensor<float>::full({1, 1}, 4),
                                    Tensor<std::int64_t>::full({1}, 1), Shape{3, 1});
    scatter(strategy.cross_replica(), ScatterOp::kAdd, table, row);
    EXPECT_THAT(strategy.read(table).to_host(), ElementsAre(0, 4, 0));
  });
}

TEST(MergeVerbs, ReduceVjp) {
  between_runs([](CrossReplicaContext& cross, sim::Host& host) {
    EXPECT_EQ(reduce_vjp(cross, ReduceOp::kMean, 12.0).value(), 2);
    EXPECT_EQ(reduce_vjp(cross, ReduceOp::kSum, 12.0 + host.group().rank()).value(), 12);
  });
}

TEST(MergeVerbs, ReduceVjpOfAValue) {
  between_runs([](CrossReplicaContext& cross, sim::Host&) {
    const auto gradients = reduce_vjp(cross, ReduceOp::kMean, values(cross.strategy()), 12.0);
    EXPECT_THAT(elements_of(gradients), Each(2));
  });
}

TEST(MergeVerbs, BroadcastVjp) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host&) {
    EXPECT_EQ(broadcast_vjp(cross, values(cross.strategy())), 21);
  });
}

TEST(MergeVerbs, GatherVjp) {
  testing::asserts("SEM-153");
  between_runs([](CrossReplicaContext& cross, sim::Host& host) {
    const auto slices =
        gather_vjp(cross, lists(cross.strategy()), std::vector<double>{10, 11, 12, 13, 14, 15});
    const std::vector<std::vector<double>> all{{10}, {11}, {12}, {13}, {14}, {15}};
    EXPECT_EQ(elements_of(slices), part_of(host.group().rank(), all));
  });
}

}  // namespace
}  // namespace belfry::testing::verbs_of_merges
