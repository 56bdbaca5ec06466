// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Verbs that combine values, along axes, to destinations, as slices, and as vjp, with fault points
// in their functions.
#include "belfry/indexed_slices.h"
#include "belfry/scatter.h"
#include "belfry/tensor_ops.h"
#include "belfry/vjp.h"
#include "suites/throwing/throwing_fixture.h"

#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

// `count` rows of equal numbers.
TensorRow rows_of(int count, float value) {
  return TensorRow::full({count, static_cast<std::int64_t>(kRowLength)}, value);
}

// Replica i has i + 1 rows of i.
void call_reduce_along_an_axis(ThrowingFixture& fixture) {
  float sum = 0;
  for (int id = 0; id < fixture.replicas(); ++id) sum += static_cast<float>(id * (id + 1));
  const auto reduce = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& rows) {
    fixture.point();
    const auto sums = cross.reduce(ReduceOp::kSum, rows, Axis(0));
    fixture.point();
    return sums;
  };
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    const TensorRow sums =
        replica.merge_call(reduce, rows_of(replica.replica_id() + 1, id_of(replica)));
    fixture.point();
    fixture.expect(sums.to_host() == row_of(sum));
  });
}

void call_reduce_to_a_destination(ThrowingFixture& fixture) {
  const Row sum = row_of(sum_of_ids(fixture));
  const std::vector<DeviceSpec> devices = fixture.strategy.worker_devices();
  const auto reduce = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& rows) {
    fixture.point();
    const auto last = cross.reduce(ReduceOp::kSum, rows, devices.back());
    fixture.point();
    const auto [first, all] = cross.batch_reduce(ReduceOp::kSum, std::pair(rows, devices.front()),
                                                 std::pair(rows, fixture.tensor));
    fixture.point();
    const auto same = cross.broadcast(fixture.number(3), devices);
    fixture.expect(last.on(devices.back()).to_host() == sum && first.value().to_host() == sum &&
                   all.value().to_host() == sum && same.value().value == 3);
  };
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    replica.merge_call(reduce, tensor_of(id_of(replica)));
    fixture.point();
  });
}

// All rows of a row, each as a slice.
IndexedSlices<float> slices_of(float value) {
  const std::vector<std::int64_t> all{0, 1, 2};
  return indexed_slices(tensor_of(value), Tensor<std::int64_t>::from({3}, all), Shape{3});
}

void call_slices(ThrowingFixture& fixture) {
  const Row sum = row_of(sum_of_ids(fixture));
  const auto slices = fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    const IndexedSlices<float> own = slices_of(id_of(replica));
    const IndexedSlices<float> all = all_reduce_slices(replica, ReduceOp::kSum, own);
    fixture.point();
    fixture.expect(to_dense(all).to_host() == sum);
    return own;
  });
  const auto all = reduce_slices(fixture.strategy.cross_replica(), ReduceOp::kSum, slices);
  fixture.expect(to_dense(all[fixture.replicas() - 1]).to_host() == sum);
}

void call_scatter(ThrowingFixture& fixture) {
  const Scope scope = fixture.strategy.scope();
  fixture.point();
  scatter(fixture.strategy.cross_replica(), ScatterOp::kMultiply, fixture.tensor, slices_of(2));
}

void call_scatter_to_locals(ThrowingFixture& fixture) {
  const Scope scope = fixture.strategy.scope();
  fixture.point();
  scatter(fixture.strategy.cross_replica(), ScatterOp::kAdd, fixture.local_tensor, slices_of(5));
}

void call_scatter_in_replicas(ThrowingFixture& fixture) {
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    scatter(replica, ScatterOp::kAdd, fixture.tensor, slices_of(1 + id_of(replica)));
  });
}

void call_vjp(ThrowingFixture& fixture) {
  const auto count = static_cast<float>(fixture.replicas());
  const Row sum = row_of(sum_of_ids(fixture));
  const auto cotangents = fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    const TensorRow own = tensor_of(id_of(replica));
    fixture.expect(all_reduce_vjp(replica, ReduceOp::kSum, own).to_host() == sum);
    fixture.point();
    const auto length = static_cast<std::int64_t>(kRowLength) * fixture.replicas();
    const TensorRow slice = all_gather_vjp(replica, own, TensorRow::full({length}, 1));
    fixture.point();
    fixture.expect(slice.to_host() == row_of(count));
    return std::pair(fixture.number(id_of(replica)), own);
  });
  const auto merge = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& rows) {
    fixture.point();
    const TensorRow total = broadcast_vjp(cross, rows);
    fixture.point();
    fixture.expect(total.to_host() == sum);
    return reduce_vjp(cross, ReduceOp::kSum, total);
  };
  fixture.strategy.run(
      [&](ReplicaContext& replica, const auto& cotangent) {
        fixture.expect(replica.merge_call(merge, cotangent.second).to_host() == sum);
      },
      cotangents);
}

void call_group(ThrowingFixture& fixture) {
  const auto wait = [&](CrossReplicaContext& cross, const PerReplica<TensorRow>& rows) {
    fixture.point();
    Completion done = cross.group(std::tuple(cross.reduce(ReduceOp::kSum, rows), fixture.tensor));
    fixture.point();
    done.wait();
    fixture.expect(done.done());
  };
  fixture.strategy.run([&](ReplicaContext& replica) {
    fixture.point();
    replica.merge_call(wait, tensor_of(id_of(replica)));
  });
}

void call_assign_total(ThrowingFixture& fixture) {
  const auto own =
      fixture.strategy.replica_local_variable(ReduceOp::kSum, [&] { return fixture.number(1); });
  const Scope scope = fixture.strategy.scope();
  CrossReplicaContext& cross = fixture.strategy.cross_replica();
  const auto count = static_cast<float>(fixture.replicas());
  try {
    cross.assign_total(own, fixture.number(2 * count), SumSplit::kDivide);
  } catch (const InjectedFault&) {
    fixture.injector.disarm();
    fixture.expect(are_all(components(fixture.strategy, own), 1));
    throw;
  }
  fixture.expect(are_all(components(fixture.strategy, own), 2));
  cross.assign_total(fixture.local_tensor, tensor_of(8));
}

}  // namespace

std::vector<ThrowingVerb> throwing_reductions() {
  return {
      {"reduce along an axis", call_reduce_along_an_axis, nothing, true},
      {"reduce to a destination", call_reduce_to_a_destination, nothing, true},
      {"reduce_slices, all_reduce_slices", call_slices, nothing, true},
      {"scatter", call_scatter, [](ExpectedNumbers& numbers) { numbers.tensor *= 2; }, true},
      {"scatter to replica-local variables", call_scatter_to_locals,
       [](ExpectedNumbers& numbers) {
         for (float& one : numbers.local_tensor) one += 5;
       },
       true},
      {"scatter in replicas", call_scatter_in_replicas,
       [](ExpectedNumbers& numbers) {
         const int count = numbers.replicas();
         numbers.tensor += static_cast<float>(count * (count + 1)) / 2;
       },
       true},
      {"vector-Jacobian products", call_vjp, nothing, true},
      {"group", call_group, nothing, true},
      {"assign_total", call_assign_total,
       [](ExpectedNumbers& numbers) {
         for (float& one : numbers.local_tensor) one = 0;
         numbers.local_tensor[0] = 8;
       },
       true},
  };
}

}  // namespace belfry::testing
