// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Verbs with destinations: results are on the devices of every kind of destination, in order, and
// nowhere else.
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace belfry::testing::destination_props {
namespace {

using Row = std::vector<float>;

class Destinations : public Property {};

std::vector<DeviceSpec> specs(Backend& backend, const std::vector<int>& devices) {
  std::vector<DeviceSpec> out;
  for (int device : devices) out.push_back(backend.device_spec(device));
  return out;
}

Row row_of(std::uint64_t seed, int replica) {
  return values_of<float>({Pattern::kSmallIntegers, seed}, replica, 3);
}

Row expected_row(ReduceOp op, std::uint64_t seed, int replicas) {
  std::vector<Row> rows;
  for (int id = 0; id < replicas; ++id) rows.push_back(row_of(seed, id));
  return expected_reduction(op, rows);
}

void check_placed(Backend& backend, const MirroredOn<Tensor<float>>& value,
                  const std::vector<int>& devices, const Row& expected) {
  RC_ASSERT(value.devices() == specs(backend, devices));
  for (int i = 0; i < value.size(); ++i) {
    RC_ASSERT(value[i].placement() == (Placement{&backend, devices[static_cast<std::size_t>(i)]}));
    RC_ASSERT(Numbers(value[i].to_host()) == Numbers(expected));
  }
}

TEST_F(Destinations, AreTheDevicesTheResultIsOnInTheirOrder) {
  testing::asserts("SEM-122");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const Topology replicas_on = *topology_of(request.devices);
    const auto devices = (*topology_of(request.devices)).devices;
    const auto op = *rc::gen::element(ReduceOp::kSum, ReduceOp::kMean);
    Bench bench(*this, request);
    Backend& backend = bench.backend();
    Strategy& strategy = bench.strategy({.devices = replicas_on.specs(backend)});
    CrossReplicaContext& cross = strategy.cross_replica();
    const auto rows =
        strategy.run([&](ReplicaContext& replica) { return row_of(seed, replica.replica_id()); });
    const auto tensors = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return tensor_of(row_of(seed, replica.replica_id()));
    });
    const auto list = specs(backend, devices);
    const Row expected = expected_row(op, seed, strategy.num_replicas());

    check_placed(backend, cross.reduce(op, tensors, list), devices, expected);
    const auto on_host = cross.reduce(op, rows, list);
    RC_ASSERT(on_host.devices() == list);
    RC_ASSERT(on_host.is_shared());
    RC_ASSERT(Numbers(on_host.value()) == Numbers(expected));

    const auto batch = cross.batch_reduce(op, std::pair{tensors, list}, rows,
                                          std::pair{rows, to_string(list.front())});
    check_placed(backend, std::get<0>(batch), devices, expected);
    RC_ASSERT(Numbers(std::get<1>(batch).value()) == Numbers(expected));
    RC_ASSERT(std::get<2>(batch).devices() == specs(backend, {devices.front()}));

    const auto copies = cross.broadcast(tensors[0], list);
    check_placed(backend, copies, devices, row_of(seed, 0));
    // A placed value is a destination too, and MEAN of equal values is the same value.
    check_placed(backend, cross.reduce(op, tensors, copies), devices, expected);
    check_placed(backend, cross.reduce(ReduceOp::kMean, cross.broadcast(tensors[0]), copies),
                 devices, row_of(seed, 0));
  });
}

TEST_F(Destinations, VariablesAndValuesStandForTheirDevices) {
  testing::asserts("SEM-122");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    auto homes = (*topology_of(request.devices)).devices;
    Bench bench(*this, request);
    Backend& backend = bench.backend();
    Strategy& strategy = bench.strategy();
    CrossReplicaContext& cross = strategy.cross_replica();
    const auto tensors = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return tensor_of(row_of(seed, replica.replica_id()));
    });
    const VariableScope scope = strategy.colocate_variables_with(specs(backend, homes));
    auto variable = strategy.mirrored_variable(tensor_of({0, 0, 0}));
    std::sort(homes.begin(), homes.end());
    const Row expected = expected_row(ReduceOp::kSum, seed, request.devices);
    const auto sum = cross.reduce(ReduceOp::kSum, tensors, variable);
    check_placed(backend, sum, homes, expected);

    std::vector<int> all;
    for (int device = 0; device < request.devices; ++device) all.push_back(device);
    check_placed(backend, cross.reduce(ReduceOp::kSum, tensors, tensors), all, expected);

    {
      const VariableScope beside = strategy.colocate_variables_with(variable);
      const auto other = strategy.mirrored_variable(tensor_of({1, 2, 3}));
      RC_ASSERT(other.devices() == variable.devices());
      check_placed(backend, cross.reduce(ReduceOp::kSum, tensors, other), homes, expected);
    }

    // A value on the devices of a variable can update the variable.
    cross.update(
        variable,
        [](Tensor<float>& component, const Tensor<float>& by) {
          RC_ASSERT(component.placement() == by.placement());
          component = by;
        },
        sum);
    RC_ASSERT(Numbers(strategy.read(variable).to_host()) == Numbers(expected));
  });
}

// A value that is the same on all devices goes to the host by a reduction, a batch, a broadcast and
// a fetch; comes from the host into updates and merges; and the variable may live on the host.
TEST_F(Destinations, MayBeTheHost) {
  testing::asserts("SEM-122", "SEM-124");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const auto op = *rc::gen::element(ReduceOp::kSum, ReduceOp::kMean);
    const bool by_text = *rc::gen::arbitrary<bool>();
    Bench bench(*this, request);
    Backend& backend = bench.backend();
    Strategy& strategy = bench.strategy();
    CrossReplicaContext& cross = strategy.cross_replica();
    const DeviceSpec host = DeviceSpec::parse("/device:CPU:0");
    const std::vector<int> there{backend.connections().host.value()};
    const Row expected = expected_row(op, seed, request.devices);
    const auto tensors = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return tensor_of(row_of(seed, replica.replica_id()));
    });
    const auto sum =
        by_text ? cross.reduce(op, tensors, "/device:CPU:0") : cross.reduce(op, tensors, host);
    check_placed(backend, sum, there, expected);
    check_placed(backend, std::get<0>(cross.batch_reduce(op, std::pair{tensors, host})), there,
                 expected);
    const Scope scope = strategy.scope();
    check_placed(backend, cross.broadcast(tensors[0], "cpu"), there, row_of(seed, 0));
    RC_ASSERT(to_string(sum.devices()[0]) == to_string(host));

    auto variable = strategy.mirrored_variable(tensor_of({1, 2, 3}));
    const Tensor<float> fetched = cross.fetch(variable, "/cpu:0");
    RC_ASSERT(fetched.placement() == (Placement{&backend, there.front()}));
    RC_ASSERT(fetched.to_host() == (Row{1, 2, 3}));
    cross.update(
        variable,
        [](Tensor<float>& own, const Tensor<float>& added) {
          own = added.copy_to(own.placement()) + own;
        },
        sum);
    Row updated;
    for (std::size_t i = 0; i < 3; ++i)
      updated.push_back(expected[i] + (1.0F + static_cast<float>(i)));
    RC_ASSERT(Numbers(strategy.read(variable).to_host()) == Numbers(updated));
    // A merge that returns a value on the host gives each replica a copy.
    const auto seen = strategy.run([&](ReplicaContext& replica) {
      const Tensor<float> own = replica.merge_call(
          [&](CrossReplicaContext& inner, const PerReplica<Tensor<float>>& values) {
            return inner.reduce(op, values, host);
          },
          tensor_of(row_of(seed, replica.replica_id())));
      return own.to_host();
    });
    for (const Row& row : seen) RC_ASSERT(Numbers(row) == Numbers(expected));
  });
}

TEST_F(Destinations, OfFetchGetsTheFunctionOfTheValue) {
  testing::asserts("SEM-124");
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const auto homes = (*topology_of(request.devices)).devices;
    const int target = *rc::gen::inRange(0, request.devices);
    Bench bench(*this, request);
    Backend& backend = bench.backend();
    Strategy& strategy = bench.strategy();
    CrossReplicaContext& cross = strategy.cross_replica();
    const Scope scope = strategy.scope();
    strategy.run(meet_with_a_tensor);
    const DeviceSpec there = backend.device_spec(target);
    const Placement place{&backend, target};
    const auto twice = [](const Tensor<float>& x) { return x + x; };
    const Row row = row_of(seed, 0);
    Row doubled;
    for (float x : row) doubled.push_back(2 * x);

    const auto some = cross.broadcast(tensor_of(row), specs(backend, homes));
    const auto mirrored = strategy.mirrored_variable(tensor_of(row));
    const auto local = strategy.replica_local_variable(ReduceOp::kMean, tensor_of(row));
    for (const Tensor<float>& fetched :
         {cross.fetch(some, there), cross.fetch(mirrored, there), cross.fetch(local, there)}) {
      RC_ASSERT(fetched.placement() == place);
      RC_ASSERT(Numbers(fetched.to_host()) == Numbers(row));
    }
    for (const Tensor<float>& fetched : {cross.fetch(some, there, twice),
                                         cross.fetch(cross.broadcast(tensor_of(row)), there, twice),
                                         cross.fetch(mirrored, there, twice)}) {
      RC_ASSERT(fetched.placement() == place);
      RC_ASSERT(Numbers(fetched.to_host()) == Numbers(doubled));
    }
    RC_ASSERT(cross.fetch(mirrored).placement() == strategy.placement(0));
    for (const Tensor<float>& fetched : {cross.fetch(some, twice), cross.fetch(local, twice)}) {
      RC_ASSERT(fetched.placement() == strategy.placement(0));
      RC_ASSERT(Numbers(fetched.to_host()) == Numbers(doubled));
    }
  });
}

TEST_F(Destinations, OfAGroupAreDoneWhenItIs) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    CrossReplicaContext& cross = strategy.cross_replica();
    const auto tensors = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return tensor_of(row_of(seed, replica.replica_id()));
    });
    const auto sum = cross.reduce(ReduceOp::kSum, tensors);
    const Completion all = cross.group(std::pair{tensors, sum});
    // Later work on a device waits for the whole group, although the work needs a single tensor.
    const int last = request.devices - 1;
    all.delay(strategy.placement(last));
    const Tensor<float> after = tensors[last] + 1.0F;
    Row expected = row_of(seed, last);
    for (float& number : expected) number += 1.0F;
    RC_ASSERT(Numbers(after.to_host()) == Numbers(expected));
    RC_ASSERT(all.done());
    const Tensor<float> both = tensors[0] + sum[0];
    all.wait();
    RC_ASSERT(all.done());
    expected = expected_row(ReduceOp::kSum, seed, request.devices);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += row_of(seed, 0)[i];
    RC_ASSERT(Numbers(both.to_host()) == Numbers(expected));
    RC_ASSERT(cross.group(7).done());
  });
}

TEST_F(Destinations, OfMappedElementsGiveWhatTheyAddUpTo) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const int count = *rc::gen::inRange(1, 100);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    CrossReplicaContext& cross = strategy.cross_replica();
    const Scope scope = strategy.scope();
    strategy.run(meet_with_a_tensor);
    std::vector<int> elements;
    for (int k = 0; k < count; ++k) elements.push_back(k);
    const auto offset = cross.broadcast(tensor_of(row_of(seed, 99)));
    const auto mapped = cross.map(
        elements,
        [&](int k, const Tensor<float>& own, float factor) {
          RC_ASSERT(own.placement().device == k % request.devices);
          return tensor_of(row_of(seed, k)) * factor + own;
        },
        offset, 2.0F);
    Row sum(3, 0.0F);
    for (int k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < 3; ++i) sum[i] += 2 * row_of(seed, k)[i] + row_of(seed, 99)[i];
    }
    const auto total = cross.reduce_mapped(ReduceOp::kSum, mapped);
    const auto mean = cross.reduce_mapped(ReduceOp::kMean, mapped);
    Row means = sum;
    for (float& x : means) x /= static_cast<float>(count);
    for (int id = 0; id < request.devices; ++id) {
      RC_ASSERT(Numbers(total[id].to_host()) == Numbers(sum));
      RC_ASSERT(Numbers(mean[id].to_host()) == Numbers(means));
      RC_ASSERT(total[id].placement() == strategy.placement(id));
    }
  });
}

}  // namespace
}  // namespace belfry::testing::destination_props
