// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "linear_model.h"

#include "batch.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"

#include <algorithm>
#include <bit>

namespace belfry::demo {
namespace {

constexpr float kLargestWeight = 3;
constexpr BatchScales kWhole{.pixel = 1, .target = kDarkest};

Tensor<float> gradient_of(const Tensor<float>& weights, const Batch& batch) {
  const auto errors = matmul(batch.images, weights) - batch.targets;
  return matmul(batch.images, errors, {.transpose_a = true});
}

void move(Tensor<float>& weights, const Tensor<float>& gradient) {
  subtract_from(weights, step(gradient) - step(-gradient));
  weights = minimum(maximum(weights, -kLargestWeight), kLargestWeight);
}

std::int64_t count_different(const std::vector<float>& a, const std::vector<float>& b) {
  std::int64_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) ++different;
  }
  return different;
}

// Weights and gradient after a step.
struct LinearState {
  Tensor<float> weights;
  Tensor<float> gradient;
};

LinearState step_on_replicas(Strategy& strategy, const MirroredVariable<Tensor<float>>& weights,
                             const Digits& digits, std::span<const int> rows) {
  Tensor<float> total;
  strategy.run([&](ReplicaContext& replica) {
    const auto mine = share(rows, replica.replica_id(), strategy.num_replicas());
    const Batch batch = make_batch(digits, mine, kWhole);
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
          const auto sum = cross.reduce(ReduceOp::kSum, gradients);
          cross.update(weights, move, sum);
          total = sum.value();
        },
        gradient_of(weights.on(replica), batch));
  });
  return {strategy.read(weights), total};
}

}  // namespace

LinearReport train_linear_model(Strategy& strategy, const Digits& digits, std::span<const int> rows,
                                int steps) {
  OneDeviceStrategy single(strategy.backend(), strategy.devices()[0]);
  const auto weights = strategy.mirrored_variable(
      [] { return Tensor<float>::zeros({kPixels, kDigits}); }, {.name = "linear model"});
  const auto batch = std::min(rows.size(), std::size_t{kLinearBatch});
  LinearReport report;
  for (report.steps = 0; report.steps < steps; ++report.steps) {
    // Batches advance by a third of their size: later batches differ.
    const auto first =
        static_cast<std::size_t>(report.steps) * (batch / 3 + 1) % (rows.size() - batch + 1);
    const auto chosen = rows.subspan(first, batch);
    const Tensor<float> before = strategy.read(weights);
    const LinearState many = step_on_replicas(strategy, weights, digits, chosen);
    const auto one = single.run([&](ReplicaContext&) {
      LinearState state{before, gradient_of(before, make_batch(digits, chosen, kWhole))};
      move(state.weights, state.gradient);
      return state;
    });
    report.weights = many.weights.to_host();
    report.last_gradient = many.gradient.to_host();
    report.different += count_different(report.weights, one[0].weights.to_host());
    report.different += count_different(report.last_gradient, one[0].gradient.to_host());
    report.compared += 2 * std::int64_t{kPixels} * kDigits;
  }
  return report;
}

}  // namespace belfry::demo
