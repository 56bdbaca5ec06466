// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trainer.h"

#include "batch.h"
#include "belfry/nest.h"
#include "belfry/tensor_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace belfry::demo {
namespace {

void scale_all(Weights<float>& weights, float factor) {
  for_each_leaf(weights, [factor](Tensor<float>& leaf) { scale(leaf, factor); });
}

// The two halves of a step, leaf by leaf.
void accelerate(Weights<float>& velocity, const Weights<float>& gradient, float momentum) {
  const auto one = [momentum](Tensor<float>& v, const Tensor<float>& g) {
    scale(v, momentum);
    add_to(v, g);
  };
  one(velocity.hidden, gradient.hidden);
  one(velocity.hidden_bias, gradient.hidden_bias);
  one(velocity.output, gradient.output);
  one(velocity.output_bias, gradient.output_bias);
}

void move(Weights<float>& weights, const Weights<float>& velocity, float rate) {
  subtract_scaled(weights.hidden, rate, velocity.hidden);
  subtract_scaled(weights.hidden_bias, rate, velocity.hidden_bias);
  subtract_scaled(weights.output, rate, velocity.output);
  subtract_scaled(weights.output_bias, rate, velocity.output_bias);
}

bool all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

}  // namespace

std::vector<float> flat(const Weights<float>& weights) {
  std::vector<float> all;
  for_each_leaf(weights, [&](const Tensor<float>& leaf) {
    const std::vector<float> values = leaf.to_host();
    all.insert(all.end(), values.begin(), values.end());
  });
  return all;
}

Trainer::Trainer(Strategy& strategy, const Digits& digits, TrainingOptions options)
    : strategy_(strategy),
      single_(strategy.backend(), strategy.devices()[0]),
      digits_(digits),
      options_(options),
      weights_(strategy.mirrored_variable([&] { return initial_weights(options.seed); },
                                          {.name = "weights"})),
      velocity_(strategy.mirrored_variable(zero_weights, {.name = "velocity"})) {}

Trainer::Outcome Trainer::state() {
  return {{}, strategy_.read(velocity_), strategy_.read(weights_)};
}

double Trainer::step_on_replicas(std::span<const int> rows, Outcome& outcome) {
  const int parts = strategy_.num_replicas();
  const auto batches = strategy_.distribute_values(
      [&](int replica) { return make_batch(digits_, share(rows, replica, parts)); });
  // Each replica's sum is scaled by N / B: the mean over replicas is then the mean over all B
  // examples, for any shares.
  const float weight = static_cast<float>(parts) / static_cast<float>(rows.size());

  const auto losses = strategy_.run(
      [&](ReplicaContext& replica, const Batch& batch) {
        const auto terms = gradient_terms(weights_.on(replica), batch.images, batch.targets);
        auto gradient = sums(terms);
        scale_all(gradient, replica.replica_id() == options_.dropped_replica ? 0 : weight);
        const auto loss = replica.all_reduce(ReduceOp::kMean, total_loss(terms) * weight);
        replica.merge_call(
            [&](CrossReplicaContext& cross, const PerReplica<Weights<float>>& gradients) {
              const auto mean = cross.reduce(ReduceOp::kMean, gradients);
              cross.update(
                  velocity_,
                  [this](Weights<float>& velocity, const Weights<float>& g) {
                    accelerate(velocity, g, options_.momentum);
                  },
                  mean);
              cross.update(
                  weights_,
                  [this](Weights<float>& weights, const Weights<float>& velocity) {
                    move(weights, velocity, options_.rate);
                  },
                  velocity_);
              outcome.gradient = mean.value();
            },
            gradient);
        return loss;
      },
      batches);
  return losses.begin()->item();
}

Trainer::OneDevice Trainer::step_on_one_device(std::span<const int> rows, const Outcome& before) {
  const auto results = single_.run([&](ReplicaContext&) {
    const Batch batch = make_batch(digits_, rows);
    const auto terms = gradient_terms(before.weights, batch.images, batch.targets);
    OneDevice step{{sums(terms), before.velocity, before.weights}, magnitudes(terms)};
    scale_all(step.outcome.gradient, 1 / static_cast<float>(rows.size()));
    accelerate(step.outcome.velocity, step.outcome.gradient, options_.momentum);
    move(step.outcome.weights, step.outcome.velocity, options_.rate);
    return step;
  });
  return results[0];
}

StepReport Trainer::step(std::span<const int> rows) {
  const Outcome before = state();
  Outcome outcome;
  StepReport report;
  report.loss = step_on_replicas(rows, outcome);
  const Outcome after = state();
  outcome.velocity = after.velocity;
  outcome.weights = after.weights;
  const OneDevice single = step_on_one_device(rows, before);

  const auto g = flat(outcome.gradient), g1 = flat(single.outcome.gradient);
  const auto v = flat(outcome.velocity), v1 = flat(single.outcome.velocity);
  const auto w = flat(outcome.weights), w1 = flat(single.outcome.weights);
  const auto magnitude = flat(single.magnitudes);
  report.finite = std::isfinite(report.loss) && all_finite(w) && all_finite(w1) && all_finite(v) &&
                  all_finite(v1) && all_finite(magnitude);
  if (!report.finite) return report;

  const int parts = strategy_.num_replicas();
  const RoundingBound bound(static_cast<int>(rows.size()), parts,
                            static_cast<int>(share(rows, 0, parts).size()));
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double gradient = bound.gradient(magnitude[i]);
    const double weight =
        RoundingBound::weight(gradient, options_.rate, {v[i], v1[i]}, {w[i], w1[i]});
    report.worst_gradient =
        std::max(report.worst_gradient, std::abs(double{g[i]} - g1[i]) / gradient);
    report.worst_weight = std::max(report.worst_weight, std::abs(double{w[i]} - w1[i]) / weight);
  }
  return report;
}

double Trainer::step_alone(std::span<const int> rows) {
  Outcome outcome;
  return step_on_replicas(rows, outcome);
}

int Trainer::count_correct(std::span<const int> rows) {
  const int parts = strategy_.num_replicas();
  const auto counts = strategy_.run([&](ReplicaContext& replica) {
    const auto mine = share(rows, replica.replica_id(), parts);
    const Batch batch = make_batch(digits_, mine);
    const auto best = argmax_rows(logits(weights_.on(replica), batch.images));
    int correct = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      correct += best[i] == digits_.labels[static_cast<std::size_t>(mine[i])] ? 1 : 0;
    }
    return replica.all_reduce(ReduceOp::kSum, correct);
  });
  return *counts.begin();
}

std::vector<float> Trainer::weights() { return flat(strategy_.read(weights_)); }

std::uint64_t Trainer::digest() {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a over the bytes, lowest first.
  for (const float weight : weights()) {
    const auto bits = std::bit_cast<std::uint32_t>(weight);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xffU)) * 0x100000001b3U;
    }
  }
  return hash;
}

}  // namespace belfry::demo
