// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Kernels with bodies for the host and for GPUs: docs/kernels.md. Compiled with WITH_CUDA, the
// program runs on GPUs, else on the simulator, and prints the same numbers.
#include "dense_layer.h"
#include "momentum.h"
#include <belfry/belfry.h>
#include <belfry/launch.h>
#include <belfry/tensor_ops.h>

#ifdef WITH_CUDA
#include <belfry/cuda/backend.h>
#else
#include <belfry/sim/backend.h>
#endif

#include <iostream>
#include <tuple>

using namespace belfry;

// [parameters]
struct Parameters {
  Tensor<float> weight;
  Tensor<float> velocity;

  static auto members(auto& self) { return std::tie(self.weight, self.velocity); }
};
// [parameters]

// Fits x * weight + bias to zero.
int main() {
#ifdef WITH_CUDA
  cuda::Backend backend{cuda::Options::fit(2)};
#else
  sim::Backend backend{{.devices = 2, .seed = 7}};
#endif
  MirroredStrategy strategy{backend};
  auto parameters = strategy.mirrored_variable([] {
    return Parameters{Tensor<float>::from({2, 3}, {1, 2, 3, 4, 5, 6}),
                      Tensor<float>::full({2, 3}, 0)};
  });

  for (int step = 0; step < 2; ++step) {
    // [step]
    strategy.run([&](ReplicaContext& replica) {
      const float id = static_cast<float>(replica.replica_id());
      const auto x = Tensor<float>::from({2, 2}, {1, id, -id, 2});
      const auto bias = Tensor<float>::from({3}, {0, 1, -1});
      auto y = Tensor<float>::uninitialised({2, 3});
      launch(DenseLayer{.rows = 2, .inputs = 2, .outputs = 3}, writes(y), reads(x),
             reads(parameters.on(replica).weight), reads(bias));
      const auto gradient = matmul(x, y, {.transpose_a = true});

      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
            cross.update(
                parameters,
                [](Parameters& own, const Tensor<float>& mean) {
                  launch(Momentum{.rate = 0.125F, .decay = 0.5F}, updates(own.weight),
                         updates(own.velocity), reads(mean));
                },
                cross.reduce(ReduceOp::kMean, gradients));
          },
          gradient);
    });
    // [step]
    for (float w : strategy.read(parameters).weight.to_host()) std::cout << w << ' ';
    std::cout << '\n';
  }
}
