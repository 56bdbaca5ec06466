// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-run and C-input: what strategies do with replicas, their arguments and their results.
#include "belfry/current.h"
#include "belfry/testing/nest_shapes.h"
#include "belfry/testing/tensors.h"
#include "contracts/contract_case.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace belfry::testing {
namespace {

std::string note_of(ReplicaContext& replica, Strategy& strategy) {
  const int id = replica.replica_id();
  const std::string who = replica_text(id);
  if (current_replica() != &replica) return who + " was not the current replica of its function";
  if (current_cross_replica() != nullptr) return who + " ran in cross-replica context";
  if (&replica.strategy() != &strategy) return who + " named another strategy";
  if (replica.num_replicas() != strategy.num_replicas()) return who + " counted replicas wrong";
  const auto index = static_cast<std::size_t>(id);
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

// Tensors of any shape and nests of any kind.
void check_shapes(Strategy& strategy, const TensorRecipe& recipe, const NestShape& shape,
                  std::uint64_t seed) {
  const auto tensors =
      strategy.distribute_values([&](int id) { return recipe.tensor<double>(id); });
  const auto nests = strategy.distribute_values([&](int id) { return nest_of(shape, seed, id); });
  demand_nothing(strategy.run(
      [&](ReplicaContext& replica, const Tensor<double>& tensor,
          const SampleNest& nest) -> std::string {
        const int id = replica.replica_id();
        const std::string who = replica_text(id);
        if (tensor.shape() != recipe.shape()) return who + " was handed another shape";
        if (!same_bits(tensor.to_host(), recipe.elements<double>(id))) {
          return who + " was handed another replica's tensor";
        }
        if (!same_bits(nest, nest_of(shape, seed, id))) {
          return who + " was handed another replica's nest";
        }
        return {};
      },
      tensors, nests));
}

}  // namespace

void check_run(const Scene& scene) {
  const Setting setting = draw_setting(scene);
  const bool concurrent = *rc::gen::arbitrary<bool>().as("concurrent");
  Stage stage(scene, setting);
  Strategy& strategy = stage.strategy();
  const int replicas = stage.replicas();
  demand(replicas >= 1, "there are no replicas");
  demand(static_cast<int>(strategy.worker_devices().size()) == replicas,
         "there is not one worker device for each replica");
  demand(replicas == 1 || !scene.has_one_replica(),
         "there are " + std::to_string(replicas) + " replicas, and one was promised");
  demand_devices(strategy.worker_devices(), stage.devices());
  for (int round = 0; round < 2; ++round) {
    std::vector<int> calls(static_cast<std::size_t>(replicas));
    const auto notes = strategy.run({.concurrent = concurrent, .site = CallSite::here()},
                                    [&](ReplicaContext& replica) {
                                      ++calls[static_cast<std::size_t>(replica.replica_id())];
                                      std::string note = note_of(replica, strategy);
                                      replica.all_reduce(ReduceOp::kSum, 1);
                                      return note.empty() ? note_of(replica, strategy) : note;
                                    });
    demand(notes.size() == replicas, "run returned another number of results than replicas");
    for (int id = 0; id < replicas; ++id) {
      const int count = calls[static_cast<std::size_t>(id)];
      demand(count == 1,
             "the function ran " + std::to_string(count) + " times on " + replica_text(id));
    }
    demand_nothing(notes);
    demand(!has_strategy(), "the strategy is still current after its run");
  }
}

void check_input(const Scene& scene) {
  const Setting setting = draw_setting(scene);
  const std::uint64_t seed = draw_seed();
  const TensorRecipe recipe = *tensor_recipe().as("tensor");
  const NestShape shape = *nest_shape().as("nest");
  Stage stage(scene, setting);
  Strategy& strategy = stage.strategy();
  check_shapes(strategy, recipe, shape, seed);
  const auto rows = strategy.distribute_values([&](int id) { return random_row(seed, id); });
  const auto tensors =
      strategy.distribute_values([&](int id) { return tensor_of(random_row(seed, id)); });
  const auto nested = std::pair(rows, std::optional(tensors));
  const auto body = [&](ReplicaContext& replica, const Row& row, const Tensor<float>& tensor,
                        const std::pair<Row, std::optional<Tensor<float>>>& both, int plain) {
    const std::string who = replica_text(replica.replica_id());
    const Row own = random_row(seed, replica.replica_id());
    std::string note;
    if (!same_bits(row, own)) note = who + " was handed another replica's row";
    if (!same_bits(tensor.to_host(), own)) note = who + " was handed another replica's tensor";
    if (tensor.placement() != replica.placement()) note = who + " was handed a tensor elsewhere";
    if (!same_bits(both.first, own) || !same_bits(both.second->to_host(), own)) {
      note = who + " was handed another replica's part of a pair";
    }
    if (plain != 7) note = who + " was handed another plain argument";
    return std::pair(note, own);
  };
  const auto returned = strategy.run(body, rows, tensors, nested, 7);
  for (int id = 0; id < stage.replicas(); ++id) {
    demand(returned[id].first.empty(), returned[id].first);
    demand(same_bits(returned[id].second, random_row(seed, id)),
           "result " + std::to_string(id) + " is that of another replica");
  }
}

}  // namespace belfry::testing
