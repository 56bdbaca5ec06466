// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-dest: the devices of variables, and the devices on which replicas see the variables.
#include "belfry/tensor_ops.h"
#include "contracts/contract_case.h"
#include "contracts/own_value.h"

#include <algorithm>

namespace belfry::testing {
void check_destinations(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const std::uint64_t seed = draw_seed();
  ContractFixture fixture(subject, setting);
  Strategy& strategy = fixture.strategy();
  CrossReplicaContext& cross = strategy.cross_replica();
  const Row row = random_row(seed, 0);
  const auto variable = strategy.mirrored_variable([&] { return tensor_of(row); });
  demand(variable.devices() == strategy.parameter_devices(),
         "a variable lives on other devices than parameter_devices() says");
  const auto components = strategy.local_values(variable);
  demand_own_components(strategy, components);
  std::size_t index = 0;
  for (const Tensor<float>& component : components) {
    const Placement place = component.placement();
    demand(place.backend->device_spec(place.device) == variable.devices()[index] &&
               lives_at(component, place),
           component_text(static_cast<int>(index)) + " is not on its device");
    ++index;
  }
  const auto seen = strategy.run([&](ReplicaContext& replica) -> std::string {
    if (lives_at(variable.on(replica), replica.placement())) return {};
    return replica_text(replica.replica_id()) + " sees a variable on another device than its own";
  });
  demand_nothing(seen);
  // State of no variable is updated once on each device, where mirrored values are at hand.
  const auto mirrored = cross.broadcast(own_value(strategy, [&](int) { return tensor_of(row); }));
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
