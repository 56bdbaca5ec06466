// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-run: the devices and the contexts of replicas.
#include "belfry/current.h"
#include "contracts/contract_case.h"

#include <algorithm>

namespace belfry::testing {
namespace {

// `first` is the lowest replica of the process.
std::string note_of(ReplicaContext& replica, Strategy& strategy, int first) {
  const int id = replica.replica_id();
  const std::string who = replica_text(id);
  if (current_replica() != &replica) return who + " was not the current replica of its function";
  if (current_cross_replica() != nullptr) return who + " ran in cross-replica context";
  if (&replica.strategy() != &strategy) return who + " named another strategy";
  if (replica.num_replicas() != strategy.num_replicas()) return who + " counted replicas wrong";
  const auto index = static_cast<std::size_t>(id - first);
  if (replica.device() != strategy.worker_devices()[index]) {
    return who + " ran on " + to_string(replica.device()) + ", not on its worker device";
  }
  if (current_device() != replica.device()) return who + " had another current device";
  if (Tensor<float>::full({1}, 1.0F).placement() != strategy.placement(id)) {
    return who + " made a tensor on another device";
  }
  return {};
}

void demand_devices(const std::vector<DeviceSpec>& got, const std::vector<DeviceSpec>& wanted) {
  for (std::size_t id = 0; id < std::min(got.size(), wanted.size()); ++id) {
    demand(got[id] == wanted[id], "the device of " + replica_text(static_cast<int>(id)) + " is " +
                                      to_string(got[id]) + ", not " + to_string(wanted[id]));
  }
  demand(got.size() == wanted.size(), "there are " + std::to_string(got.size()) + " replicas for " +
                                          std::to_string(wanted.size()) + " devices");
}

}  // namespace

void check_run(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const bool concurrent = *rc::gen::arbitrary<bool>().as("concurrent");
  ContractFixture fixture(subject, setting);
  Strategy& strategy = fixture.strategy();
  const int replicas = fixture.replicas();
  demand(replicas >= 1, "there are no replicas");
  const std::size_t own = fixture.own().size();
  const int first = own == 0 ? 0 : fixture.own().front();  // Without replicas nothing asks.
  demand(subject.place == nullptr || subject.place->replicas() == replicas,
         "there are " + std::to_string(replicas) + " replicas on the devices of all processes");
  demand(strategy.worker_devices().size() == own,
         "there is not one worker device for each replica");
  demand(replicas == 1 || !subject.has_one_replica(),
         "there are " + std::to_string(replicas) + " replicas, and one was promised");
  demand_devices(strategy.worker_devices(), fixture.devices());
  for (int round = 0; round < 2; ++round) {
    std::vector<int> calls(own);
    const auto notes = strategy.run(
        {.concurrent = concurrent, .site = CallSite::here()}, [&](ReplicaContext& replica) {
          ++calls[static_cast<std::size_t>(replica.replica_id() - first)];
          std::string note = note_of(replica, strategy, first);
          // The remaining replicas may run while the host waits.
          Tensor<float>::full({2}, 1.0F).to_host();
          return note.empty() ? note_of(replica, strategy, first) : note;
        });
    demand(notes.size() == replicas, "run returned another number of results than replicas");
    for (const int id : fixture.own()) {
      const int count = calls[static_cast<std::size_t>(id - first)];
      demand(notes.has(id), "run returned no result of " + replica_text(id));
      demand(count == 1,
             "the function ran " + std::to_string(count) + " times on " + replica_text(id));
    }
    demand_nothing(notes);
    demand(!has_strategy(), "the strategy is still current after its run");
  }
}

}  // namespace belfry::testing
