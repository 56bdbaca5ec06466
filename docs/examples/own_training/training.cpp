// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "training.h"

#include "matrix.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace own_training {

using belfry::CrossReplicaContext;
using belfry::PerReplica;
using belfry::ReduceOp;
using belfry::ReplicaContext;

Training::Training(belfry::Strategy& strategy, const Examples& examples, TrainingOptions options)
    : strategy_(strategy),
      examples_(examples),
      options_(options),
      network_(strategy.mirrored_variable(
          [&] { return initial_weights(options.layout, options.seed); }, {.name = "network"})) {}

// [step]
double Training::step(const Shares& shares) {
  const auto losses = strategy_.run(
      [&](ReplicaContext& replica, const std::vector<int>& rows) {
        const int count = replica.all_reduce(ReduceOp::kSum, static_cast<int>(rows.size()));
        const float scale = 1 / static_cast<float>(std::max(count, 1));
        const auto [gradient, own] = pass(network_.on(replica), make_batch(examples_, rows), scale);
        replica.merge_call(
            [&](CrossReplicaContext& cross, const PerReplica<Network>& gradients) {
              const auto sum = cross.reduce(ReduceOp::kSum, gradients);
              cross.update(
                  network_,
                  [this](Network& network, const Network& g) {
                    descend(network, g, options_.rate);
                  },
                  sum);
            },
            gradient);
        const std::vector<float> each = own.to_host();
        const double total = std::accumulate(each.begin(), each.end(), 0.0);
        return scale * replica.all_reduce(ReduceOp::kSum, total);
      },
      shares);
  return losses[0];
}
// [step]

// [count]
int Training::count_correct(const Shares& shares) {
  const auto counts = strategy_.run(
      [&](ReplicaContext& replica, const std::vector<int>& rows) {
        const Batch batch = make_batch(examples_, rows);
        const std::vector<float> values = scores(network_.on(replica), batch.x).to_host();
        const auto answers = matrix(values, static_cast<std::size_t>(options_.layout.classes));
        int correct = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          Eigen::Index best = 0;
          answers.row(static_cast<Eigen::Index>(i)).maxCoeff(&best);
          correct += best == examples_.labels[static_cast<std::size_t>(rows[i])] ? 1 : 0;
        }
        return replica.all_reduce(ReduceOp::kSum, correct);
      },
      shares);
  return counts[0];
}
// [count]

std::vector<HostWeights> Training::weights() {
  std::vector<HostWeights> all;
  for (const Network& network : strategy_.local_values(network_)) all.push_back(on_host(network));
  return all;
}

void Training::assign(const HostWeights& weights) {
  strategy_.cross_replica().update(
      network_, [&](Network& network) { network = on_device(options_.layout, weights); });
}

}  // namespace own_training
