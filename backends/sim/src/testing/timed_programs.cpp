// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/timed_programs.h"

#include "belfry/belfry.h"
#include "belfry/tensor_ops.h"

#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace belfry::sim::testing {
namespace {

double total(CrossReplicaContext&, const PerReplica<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

double host_merges(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    double value = replica.replica_id();
    for (int round = 0; round < kRounds; ++round) {
      value = replica.merge_call(total, value) * 0x1p-10;
    }
    return value;
  })[0];
}

double variable_reads(Backend& backend) {
  MirroredStrategy strategy{backend};
  const auto variable = strategy.mirrored_variable([] { return 0.5; });
  return strategy.run([&](ReplicaContext& replica) {
    double sum = 0;
    for (int round = 0; round < kRounds; ++round) sum += variable.on(replica);
    return sum;
  })[0];
}

double tensor_reductions(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    auto x = Tensor<float>::full({64}, static_cast<float>(replica.replica_id()));
    for (int round = 0; round < kRounds / 4; ++round) {
      x = relu(x * 0.5F + 1.0F);
      scale(x, 0.5F);
      x = replica.all_reduce(ReduceOp::kMean, x);
    }
    return x.to_host()[0];
  })[0];
}

double map_reduction(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    std::map<std::string, std::vector<double>> gradients;
    for (int layer = 0; layer < 20; ++layer) {
      gradients["layer" + std::to_string(layer)] = {1.0, replica.replica_id() * 0.5};
    }
    return replica.all_reduce(ReduceOp::kMean, gradients).at("layer3")[1];
  })[0];
}

double nested_map_reduction(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    std::map<std::string, std::map<std::string, float>> gradients;
    for (int layer = 0; layer < 5; ++layer) {
      auto& of_layer = gradients["layer" + std::to_string(layer)];
      for (int weight = 0; weight < 10; ++weight) {
        of_layer["weight" + std::to_string(weight)] = 0.5F * static_cast<float>(weight);
      }
    }
    return static_cast<double>(
        replica.all_reduce(ReduceOp::kMean, gradients).at("layer3").at("weight2"));
  })[0];
}

double training_step(Backend& backend) {
  MirroredStrategy strategy{backend};
  constexpr int kRows = 32, kInputs = 64, kOutputs = 10;
  const auto weights =
      strategy.mirrored_variable([] { return Tensor<float>::full({kInputs, kOutputs}, 0.01F); });
  strategy.run([&](ReplicaContext& replica) {
    const auto images =
        Tensor<float>::full({kRows, kInputs}, 0.1F * static_cast<float>(replica.replica_id()));
    const auto scores = relu(matmul(images, weights.on(replica)));
    const auto loss = replica.all_reduce(ReduceOp::kMean, column_sum(scores));
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
          cross.update(
              weights,
              [](Tensor<float>& w, const Tensor<float>& g) { subtract_scaled(w, 0.1F, g); },
              cross.reduce(ReduceOp::kMean, gradients));
        },
        matmul(images, scores, {.transpose_a = true}));
    return loss;
  });
  return strategy.read(weights).to_host()[0];
}

}  // namespace belfry::sim::testing
