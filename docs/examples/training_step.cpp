// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A step of training without copies: gradients in buckets, and an update of all variables in a
// single kernel for each device: docs/training_step.md.
#include <belfry/belfry.h>
#include <belfry/fused_update.h>
#include <belfry/gradient_buckets.h>
#include <belfry/sim/backend.h>
#include <belfry/tensor_ops.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <span>
#include <string>
#include <vector>

using namespace belfry;

// [kernel]
/// velocity = decay * velocity + gradient, with the elements of the gradient between -1 and 1; then
/// weight -= rate * velocity.
struct ClippedMomentum {
  float rate;
  float decay;

  void on_host(std::span<float> weight, std::span<float> velocity,
               std::span<const float> gradient) const {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      velocity[i] = decay * velocity[i] + std::clamp(gradient[i], -1.0F, 1.0F);
      weight[i] -= rate * velocity[i];
    }
  }
};
// [kernel]

int main() {
  sim::Backend backend{{.devices = 2, .seed = 7}};
  MirroredStrategy strategy{backend};

  std::cout << "== update\n";
  // [update]
  const auto ones = [] { return Tensor<float>::full({2}, 1.0F); };
  const auto zeros = [] { return Tensor<float>::zeros({2}); };
  std::vector<MirroredVariable<Tensor<float>>> weights;
  std::vector<MirroredVariable<Tensor<float>>> velocities;
  for (int layer = 0; layer < 3; ++layer) {
    weights.push_back(strategy.mirrored_variable(ones));
    velocities.push_back(strategy.mirrored_variable(zeros));
  }
  CrossReplicaContext& cross = strategy.cross_replica();
  const std::vector<Mirrored<Tensor<float>>> gradients(
      3, cross.broadcast(Tensor<float>::full({2}, 2.0F, strategy.placement(0))));

  cross.update_all(weights, FusedUpdate::momentum(0.25, 0.5), velocities, gradients);
  cross.update_all(weights, FusedUpdate::kernel(ClippedMomentum{.rate = 0.25F, .decay = 0.5F}),
                   velocities, gradients);
  std::cout << strategy.read(weights[2]).to_host()[0] << '\n';
  // [update]

  std::cout << "== buckets\n";
  // [buckets]
  const std::vector<std::string> names{"stem", "body", "head"};
  GradientBuckets buckets(strategy, names);
  strategy.run([&](ReplicaContext& replica) {
    const auto own = static_cast<float>(replica.replica_id());
    for (const char* layer : {"head", "body", "stem"}) {  // The backward pass.
      const auto gradient = Tensor<float>::full({2}, own);
      buckets.add(replica, layer, gradient);
    }
    buckets.finish(replica, [&](CrossReplicaContext& merged, const TensorValues& means) {
      merged.update_all(weights, FusedUpdate::plain(0.5), {}, means);
    });
  });
  std::cout << strategy.read(weights[2]).to_host()[0] << '\n';
  // [buckets]

  std::cout << "== order\n";
  // [order]
  try {
    strategy.run([&](ReplicaContext& replica) {
      const auto gradient = Tensor<float>::zeros({2});
      const bool is_odd = replica.replica_id() == 1;
      buckets.add(replica, is_odd ? "body" : "head", gradient);
      buckets.add(replica, is_odd ? "head" : "body", gradient);
      buckets.skip(replica, "stem");
    });
  } catch (const StructureMismatchError& error) {
    for (const ReplicaReport& one : error.report().replicas) {
      std::cout << "replica " << one.replica_id << ' ' << one.what << '\n';
    }
    buckets.discard();
  }
  // [order]
}
