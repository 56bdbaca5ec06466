// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The names of tf.distribute that docs/tf_mapping.md finds in belfry, each used.
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/cluster_environment.h"
#include "belfry/cross_device_ops.h"
#include "belfry/current.h"
#include "belfry/dataset.h"
#include "belfry/group_context.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/process_group.h"
#include "belfry/replica_groups.h"
#include "belfry/sharded_variable.h"
#include "belfry/tensor.h"
#include "belfry/tensor_file.h"
#include "belfry/tower.h"
#include "belfry/vjp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace belfry::tower_distribute_test {
namespace {

using ::testing::ElementsAre;

using Ints = std::vector<int>;

// A group of one process.
class Alone final : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return {{bytes.begin(), bytes.end()}};
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int) override {
    return {bytes.begin(), bytes.end()};
  }
};

class TowerDistribute : public ::testing::Test {
 protected:
  HostBackend backend_{2};
  tower::MirroredStrategy strategy_{backend_};
};

TEST_F(TowerDistribute, HasStrategiesOfProcessesAndOfOneStore) {
  Alone group;
  group.set_deadline(Deadline::never());
  MultiWorkerMirroredStrategy workers{backend_, group};
  EXPECT_EQ(tower::num_replicas_in_sync(workers), 2);
  EXPECT_TRUE(tower::between_graph(workers));
  CentralStorageStrategy central{backend_};
  EXPECT_EQ(tower::parameter_devices(central).size(), 1U);
  EXPECT_FALSE(tower::between_graph(central));
}

TEST_F(TowerDistribute, KnowsTheCurrentContext) {
  EXPECT_FALSE(has_strategy());
  EXPECT_EQ(current_cross_replica(), nullptr);
  const auto scope = tower::scope(strategy_);
  EXPECT_TRUE(has_strategy());
  EXPECT_NE(current_cross_replica(), nullptr);
}

TEST_F(TowerDistribute, HasAlgorithmsOfReductions) {
  const std::vector<std::shared_ptr<CrossDeviceOps>> algorithms{
      std::make_shared<NativeAllReduce>(), std::make_shared<HierarchicalAllReduce>(),
      std::make_shared<ReductionToOneDevice>()};
  for (const auto& algorithm : algorithms) {
    strategy_.configure({.cross_device_ops = algorithm});
    EXPECT_EQ(strategy_.options().cross_device_ops, algorithm);
  }
}

TEST_F(TowerDistribute, DistributesDatasetsAndValues) {
  const DistributeOptions options{.end_of_data = EndOfData::kDropPartialStep};
  const Dataset<Ints> batches = Dataset<int>::range(4).batch(2);
  const DistributedDataset<Ints> steps = strategy_.distribute_dataset(batches, options);
  int count = 0;
  for (const PerReplica<Ints>& step : steps) count += step.size();
  EXPECT_EQ(count, 4);
  tower::DistributedIterator<Ints> iterator(steps);
  EXPECT_THAT(iterator.get_next()[1], ElementsAre(1));
  Checkpoint checkpoint(strategy_);
  checkpoint.add("rows", iterator);
  const TensorFile first = checkpoint.contents();
  EXPECT_THAT(iterator.get_next()[1], ElementsAre(3));
  checkpoint.restore(first);
  EXPECT_THAT(iterator.get_next()[1], ElementsAre(3));
  const auto input_fn = [](const InputContext& context) {
    return Dataset<int>::range(context.num_replicas_in_sync);
  };
  auto per_worker = strategy_.distribute_datasets_from_function(input_fn, options);
  for (const auto& step : per_worker) EXPECT_THAT(step, ElementsAre(0, 1));
  const auto values = strategy_.distribute_values_from_function(
      [](const ValueContext& context) { return 10 * context.replica_id; });
  EXPECT_THAT(values, ElementsAre(0, 10));
  const tower::DistributedValue<int> either = values;
  EXPECT_EQ(either[1], 10);
  static_assert(std::is_same_v<tower::ReplicaContext, ReplicaContext>);
}

TEST_F(TowerDistribute, HasTheCollectiveOperations) {
  const auto met = strategy_.run([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    Ints all = replica.all_to_all(Ints{10 * id, 10 * id + 1});
    all.push_back(replica.broadcast(id, 1));
    all.push_back(replica.all_gather(Ints{id}, Axis(0))[1]);
    all.push_back(replica.permute(id, {{1, 0}}).value_or(-1));
    all.push_back(replica.reduce_scatter(ReduceOp::kSum, Ints{id, 2 * id}, Axis(0))[0]);
    all.push_back(replica.all_reduce(ReduceOp::kSum, id));
    return all;
  });
  EXPECT_THAT(met, ElementsAre(Ints{0, 10, 1, 1, 1, 1, 1}, Ints{1, 11, 1, 1, -1, 2, 1}));
}

// The names for readers who know the collectives of PyTorch, JAX and MPI. The table has 2 rows on
// replica 0, and 1 on replica 1.
TEST_F(TowerDistribute, HasTheCollectivesOfOtherLibraries) {
  const ReplicaMesh mesh = strategy_.mesh({{"data", 2}});
  const ReplicaGroups groups = strategy_.groups({{0, 1}});
  const auto table = strategy_.sharded_variable([] { return Tensor<int>::from({3}, {1, 2, 3}); },
                                                Axis(0), {.name = "table"});
  const auto met = strategy_.run([&](ReplicaContext& replica) {
    GroupContext group = replica.in(groups);
    const int id = replica.replica_id();
    Ints all = group.all_to_all(all_to_all_vjp(group, Ints{id, 10 + id}));
    all.push_back(replica.along(mesh, "data").index() + replica.num_replicas());
    all.push_back(group.scatter_from(Ints{5, 6}, 0));
    all.push_back(static_cast<int>(replica.gather_to(Ints{id}, 1).value_or(Ints()).size()));
    all.push_back(static_cast<int>(table.on(replica).count()));
    all.push_back(all_reduce_vjp(replica, ReduceOp::kSum, id));
    all.push_back(all_gather_vjp(replica, Ints{id}, Ints{1, 2})[0]);
    all.push_back(reduce_scatter_vjp(replica, ReduceOp::kSum, Ints{id}, Axis(0))[1]);
    all.push_back(permute_vjp(replica, std::optional(id), {{0, 1}, {1, 0}}).value_or(-1));
    return all;
  });
  EXPECT_THAT(met[0], ElementsAre(0, 10, 2, 5, 0, 2, 1, 2, 1, 1));
  EXPECT_THAT(met[1], ElementsAre(1, 11, 3, 6, 2, 1, 1, 4, 1, 0));
}

TEST_F(TowerDistribute, ReadsTheClusterOfALauncher) {
  const ClusterSpec cluster{.jobs = {{"worker", {"a:1", "b:1"}}}};
  const TfConfig config = TfConfig::parse(
      R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}})");
  EXPECT_EQ(config.cluster, cluster);
  const Environment slurm{{"SLURM_STEP_NODELIST", "a,b"},
                          {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                          {"SLURM_STEP_NUM_TASKS", "2"}};
  EXPECT_EQ(slurm_cluster(slurm, {}, 1), cluster);
  EXPECT_EQ(resolve(slurm, ProcessNumbers{.rank = 0, .size = 2}).numbers.size, 2);
}

}  // namespace
}  // namespace belfry::tower_distribute_test
