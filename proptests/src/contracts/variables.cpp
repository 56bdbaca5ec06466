// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-local and C-dest: replica-local variables, and where variables live.
#include "belfry/tensor_ops.h"
#include "contracts/contract_case.h"

#include <algorithm>

namespace belfry::testing {
namespace {

Row reduced(ReduceOp op, int replicas, std::uint64_t seed) {
  Row sum(4);
  for (int id = 0; id < replicas; ++id) {
    const Row own = values_of<float>({Pattern::kSmallIntegers, seed}, id, 4);
    for (std::size_t i = 0; i < 4; ++i) sum[i] += own[i];
  }
  if (op == ReduceOp::kMean) {
    for (float& one : sum) one /= static_cast<float>(replicas);
  }
  return sum;
}

}  // namespace

void check_replica_local(const Scene& scene) {
  const Setting setting = draw_setting(scene);
  const std::uint64_t seed = draw_seed();
  Stage stage(scene, setting);
  Strategy& strategy = stage.strategy();
  const auto own = [&](int id) { return values_of<float>({Pattern::kSmallIntegers, seed}, id, 4); };
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    const auto host = strategy.replica_local_variable(op, Row(4));
    const auto device =
        strategy.replica_local_variable(op, [] { return Tensor<float>::full({4}, 0.0F); });
    const auto notes = strategy.run([&](ReplicaContext& replica) -> std::string {
      const int id = replica.replica_id();
      host.on(replica) = own(id);
      replica.assign_add(device, tensor_of(own(id)));
      replica.all_reduce(ReduceOp::kSum, 1);  // All have written.
      if (!same_bits(host.on(replica), own(id)) ||
          !same_bits(device.on(replica).to_host(), own(id))) {
        return replica_text(id) + " does not see what it wrote to its own component";
      }
      if (device.on(replica).placement() != replica.placement()) {
        return "the component of " + replica_text(id) + " lives on another device";
      }
      return {};
    });
    demand_nothing(notes);
    const auto components = strategy.local_values(device);
    demand(components.size() == stage.replicas(),
           "a replica-local variable has not one component for each replica");
    for (int id = 0; id < components.size(); ++id) {
      demand(same_bits(components[id].to_host(), own(id)),
             component_text(id) + " of a replica-local variable is not replica " +
                 std::to_string(id) + "'s");
    }
    const Row wanted = reduced(op, stage.replicas(), seed);
    const Row read_host = strategy.read(host);
    const Row read_device = strategy.read(device).to_host();
    demand(same_bits(read_host, wanted), "reading a replica-local " + to_string(op) + " gave " +
                                             text_of(read_host) + ", not " + text_of(wanted));
    demand(same_bits(read_device, wanted), "reading a replica-local " + to_string(op) +
                                               " of tensors gave " + text_of(read_device) +
                                               ", not " + text_of(wanted));
    demand(same_bits(strategy.local_values(host)[0], own(0)), "reading changed a component");
    // From outside each component is updated for itself: they do not end equal.
    strategy.cross_replica().update(host, [](Row& component) { component[0] += 1; });
    for (int id = 0; id < stage.replicas(); ++id) {
      Row updated = own(id);
      updated[0] += 1;
      demand(same_bits(strategy.local_values(host)[id], updated),
             "an update of a replica-local variable gave " + replica_text(id) + " another value");
    }
  }
}

void check_destinations(const Scene& scene) {
  const Setting setting = draw_setting(scene);
  const std::uint64_t seed = draw_seed();
  Stage stage(scene, setting);
  Strategy& strategy = stage.strategy();
  CrossReplicaContext& cross = strategy.cross_replica();
  const Row row = random_row(seed, 0);
  const auto variable = strategy.mirrored_variable([&] { return tensor_of(row); });
  demand(variable.devices() == strategy.parameter_devices(),
         "a variable lives on other devices than parameter_devices() says");
  const auto components = strategy.local_values(variable);
  for (int i = 0; i < components.size(); ++i) {
    const Placement place = components[i].placement();
    demand(
        place.backend->device_spec(place.device) == variable.devices()[static_cast<std::size_t>(i)],
        component_text(i) + " is not on its device");
  }
  const auto seen = strategy.run([&](ReplicaContext& replica) -> std::string {
    if (variable.on(replica).placement() == replica.placement()) return {};
    return replica_text(replica.replica_id()) + " sees a variable on another device than its own";
  });
  demand_nothing(seen);
  // State of no variable is updated once on each device, where mirrored values are at hand.
  const auto mirrored =
      cross.broadcast(strategy.distribute_values([&](int) { return tensor_of(row); })[0]);
  auto devices = strategy.non_slot_devices();
  std::ranges::reverse(devices);
  std::vector<DeviceSpec> visited;
  cross.update_non_slot(
      devices,
      [&](const Tensor<float>& here) {
        visited.push_back(here.placement().backend->device_spec(here.placement().device));
        demand(same_bits(here.to_host(), row), "update_non_slot handed over another value");
      },
      mirrored);
  demand(visited == devices, "update_non_slot did not visit its devices once each, in order");
}

}  // namespace belfry::testing
