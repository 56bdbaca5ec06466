// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The verbs that combine values, along axes, to destinations, as slices, and backwards; with points
// around them.
#include "belfry/indexed_slices.h"
#include "belfry/scatter.h"
#include "belfry/tensor_ops.h"
#include "belfry/vjp.h"
#include "suites/throwing_stage.h"

#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

// `count` rows of one number.
TensorRow rows_of(int count, float value) {
  return TensorRow::full({count, static_cast<std::int64_t>(kRowLength)}, value);
}

// Replica i has i + 1 rows of i.
void call_reduce_along_an_axis(Stage& stage) {
  float sum = 0;
  for (int id = 0; id < stage.replicas(); ++id) sum += static_cast<float>(id * (id + 1));
  const auto reduce = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& rows) {
    stage.point();
    const auto sums = cross.reduce(ReduceOp::kSum, rows, Axis(0));
    stage.point();
    return sums;
  };
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    const TensorRow sums =
        replica.merge_call(reduce, rows_of(replica.replica_id() + 1, id_of(replica)));
    stage.point();
    stage.expect(sums.to_host() == row_of(sum));
  });
}

void call_reduce_to_a_destination(Stage& stage) {
  const Row sum = row_of(sum_of_ids(stage));
  const std::vector<DeviceSpec> devices = stage.strategy.worker_devices();
  const auto reduce = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& rows) {
    stage.point();
    const auto last = cross.reduce(ReduceOp::kSum, rows, devices.back());
    stage.point();
    const auto [first, all] = cross.batch_reduce(ReduceOp::kSum, std::pair(rows, devices.front()),
                                                 std::pair(rows, stage.tensor));
    stage.point();
    const auto same = cross.broadcast(stage.number(3), devices);
    stage.expect(last.on(devices.back()).to_host() == sum && first.value().to_host() == sum &&
                 all.value().to_host() == sum && same.value().value == 3);
  };
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    replica.merge_call(reduce, tensor_of(id_of(replica)));
    stage.point();
  });
}

// All rows of a row, one by one.
IndexedSlices<float> slices_of(float value) {
  const std::vector<std::int64_t> all{0, 1, 2};
  return indexed_slices(tensor_of(value), Tensor<std::int64_t>::from({3}, all), Shape{3});
}

void call_slices(Stage& stage) {
  const Row sum = row_of(sum_of_ids(stage));
  const auto slices = stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    const IndexedSlices<float> own = slices_of(id_of(replica));
    const IndexedSlices<float> all = all_reduce_slices(replica, ReduceOp::kSum, own);
    stage.point();
    stage.expect(to_dense(all).to_host() == sum);
    return own;
  });
  const auto all = reduce_slices(stage.strategy.cross_replica(), ReduceOp::kSum, slices);
  stage.expect(to_dense(all[stage.replicas() - 1]).to_host() == sum);
}

void call_scatter(Stage& stage) {
  const Scope scope = stage.strategy.scope();
  stage.point();
  scatter(stage.strategy.cross_replica(), ScatterOp::kMultiply, stage.tensor, slices_of(2));
}

void call_scatter_to_locals(Stage& stage) {
  const Scope scope = stage.strategy.scope();
  stage.point();
  scatter(stage.strategy.cross_replica(), ScatterOp::kAdd, stage.local_tensor, slices_of(5));
}

void call_scatter_in_replicas(Stage& stage) {
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    scatter(replica, ScatterOp::kAdd, stage.tensor, slices_of(1 + id_of(replica)));
  });
}

void call_vjp(Stage& stage) {
  const auto count = static_cast<float>(stage.replicas());
  const Row sum = row_of(sum_of_ids(stage));
  const auto cotangents = stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    const TensorRow own = tensor_of(id_of(replica));
    stage.expect(all_reduce_vjp(replica, ReduceOp::kSum, own).to_host() == sum);
    stage.point();
    const auto length = static_cast<std::int64_t>(kRowLength) * stage.replicas();
    const TensorRow slice = all_gather_vjp(replica, own, TensorRow::full({length}, 1));
    stage.point();
    stage.expect(slice.to_host() == row_of(count));
    return std::pair(stage.number(id_of(replica)), own);
  });
  const auto merge = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& rows) {
    stage.point();
    const TensorRow total = broadcast_vjp(cross, rows);
    stage.point();
    stage.expect(total.to_host() == sum);
    return reduce_vjp(cross, ReduceOp::kSum, total);
  };
  stage.strategy.run(
      [&](ReplicaContext& replica, const auto& cotangent) {
        stage.expect(replica.merge_call(merge, cotangent.second).to_host() == sum);
      },
      cotangents);
}

void call_group(Stage& stage) {
  const auto wait = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& rows) {
    stage.point();
    Completion done = cross.group(std::tuple(cross.reduce(ReduceOp::kSum, rows), stage.tensor));
    stage.point();
    done.wait();
    stage.expect(done.done());
  };
  stage.strategy.run([&](ReplicaContext& replica) {
    stage.point();
    replica.merge_call(wait, tensor_of(id_of(replica)));
  });
}

void call_assign_total(Stage& stage) {
  const auto own =
      stage.strategy.replica_local_variable(ReduceOp::kSum, [&] { return stage.number(1); });
  const Scope scope = stage.strategy.scope();
  CrossReplicaContext& cross = stage.strategy.cross_replica();
  const auto count = static_cast<float>(stage.replicas());
  try {
    cross.assign_total(own, stage.number(2 * count), SumSplit::kDivide);
  } catch (const Planted&) {
    stage.planter.disarm();
    stage.expect(are_all(components(stage.strategy, own), 1));
    throw;
  }
  stage.expect(are_all(components(stage.strategy, own), 2));
  cross.assign_total(stage.local_tensor, tensor_of(8));
}

}  // namespace

std::vector<ThrowingVerb> throwing_reductions() {
  return {
      {"reduce along an axis", call_reduce_along_an_axis, nothing, true},
      {"reduce to a destination", call_reduce_to_a_destination, nothing, true},
      {"reduce_slices, all_reduce_slices", call_slices, nothing, true},
      {"scatter", call_scatter, [](StageNumbers& numbers) { numbers.tensor *= 2; }, true},
      {"scatter to replica-local variables", call_scatter_to_locals,
       [](StageNumbers& numbers) {
         for (float& one : numbers.local_tensor) one += 5;
       },
       true},
      {"scatter in replicas", call_scatter_in_replicas,
       [](StageNumbers& numbers) {
         const int count = numbers.replicas();
         numbers.tensor += static_cast<float>(count * (count + 1)) / 2;
       },
       true},
      {"vector-Jacobian products", call_vjp, nothing, true},
      {"group", call_group, nothing, true},
      {"assign_total", call_assign_total,
       [](StageNumbers& numbers) {
         for (float& one : numbers.local_tensor) one = 0;
         numbers.local_tensor[0] = 8;
       },
       true},
  };
}

}  // namespace belfry::testing
