// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes in values: a program and the right twin compute the same on one replica, and different
// values on two. The comment `// plant: NAME` is on the line of the mistake.
#include "belfry/tensor_ops.h"
#include "plant.h"

namespace belfry::plants {
namespace {

using Values = std::vector<float>;

const Values kEight{1, 2, 3, 4, 5, 6, 7, 8};
const Values kSeven{1, 2, 3, 4, 5, 6, 7};

using Weight = MirroredVariable<Tensor<float>>;

// Runs a step on every replica, and reads the weight.
template <class Step>
void train(Strategy& strategy, const Step& step) {
  const Weight weight =
      strategy.mirrored_variable([] { return Tensor<float>::full({1}, 1.0F); }, {.name = "weight"});
  strategy.run([&](ReplicaContext& replica) { step(replica, weight); });
  strategy.read(weight).to_host();
}

// A step with the mean of the gradients.
void descend(ReplicaContext& replica, const Weight& weight, const Tensor<float>& gradient) {
  replica.merge_call(
      [&weight](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
        const auto mean = cross.reduce(ReduceOp::kMean, gradients);
        cross.update(
            weight, [](Tensor<float>& w, const Tensor<float>& g) { subtract_scaled(w, 0.1F, g); },
            mean);
      },
      gradient);
}

void mean_of_means(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto x = column_of(share_of(replica, kSeven));
    const auto sum = column_sum(multiply(x, weight.on(replica)));
    const float own = static_cast<float>(x.count());
    const float equal = 7.0F / static_cast<float>(replica.num_replicas());
    descend(replica, weight, divide(sum, planted ? own : equal));  // plant: mean_of_means
  });
}

void clip_before_reduction(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto x = column_of(share_of(replica, kEight));
    auto gradient = divide(column_sum(x), static_cast<float>(x.count()));
    if (planted) gradient = minimum(gradient, 5.0F);  // plant: clip_before_reduction
    gradient = replica.all_reduce(ReduceOp::kMean, gradient);
    descend(replica, weight, planted ? gradient : minimum(gradient, 5.0F));
  });
}

void local_batch_statistics(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto x = column_of(share_of(replica, kEight));
    const auto local = divide(column_sum(x), static_cast<float>(x.count()));
    const auto global = replica.all_reduce(ReduceOp::kMean, local);
    const auto centred = subtract(x, planted ? local : global);  // plant: local_batch_statistics
    const auto variance = divide(column_sum(square(centred)), static_cast<float>(x.count()));
    descend(replica, weight, variance);
  });
}

void loss_by_local_batch(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto x = column_of(share_of(replica, kEight));
    const auto sum = column_sum(multiply(x, weight.on(replica)));
    const float examples = planted ? static_cast<float>(x.count()) : 8.0F;
    const auto loss = divide(sum, examples);  // plant: loss_by_local_batch
    descend(replica, weight, replica.all_reduce(ReduceOp::kSum, loss));
  });
}

void scale_twice(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto x = column_of(share_of(replica, kEight));
    auto gradient = divide(column_sum(x), static_cast<float>(x.count()));
    const float parts = planted ? static_cast<float>(replica.num_replicas()) : 1.0F;
    gradient = divide(gradient, parts);  // plant: scale_twice
    descend(replica, weight, gradient);
  });
}

void squares_of_local_gradients(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto x = column_of(share_of(replica, kEight));
    const auto local = divide(column_sum(x), static_cast<float>(x.count()));
    const auto global = replica.all_reduce(ReduceOp::kMean, local);
    const auto second = square(planted ? local : global);  // plant: squares_of_local_gradients
    descend(replica, weight, divide(global, sqrt(replica.all_reduce(ReduceOp::kMean, second))));
  });
}

void equal_dropout_masks(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto x = column_of(share_of(replica, kEight));
    x.to_host();  // A replica may read its share.
    const std::uint64_t first = planted ? 0 : 4 * static_cast<std::uint64_t>(replica.replica_id());
    const auto mask = random_uniform<float>(x.shape(), 7, first);  // plant: equal_dropout_masks
    descend(replica, weight, divide(column_sum(multiply(x, mask)), static_cast<float>(x.count())));
  });
}

void different_feature_masks(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto x = column_of(share_of(replica, kEight));
    const std::uint64_t seed = planted ? static_cast<std::uint64_t>(replica.replica_id()) : 0;
    const auto mask = random_uniform<float>({1}, seed);  // plant: different_feature_masks
    descend(replica, weight, divide(column_sum(multiply(x, mask)), static_cast<float>(x.count())));
  });
}

void last_window_dropped(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    Values window = share_of(replica, kSeven);
    if (planted) window.resize(7 / static_cast<std::size_t>(replica.num_replicas()));
    const auto x = column_of(window);  // plant: last_window_dropped
    const auto sum = replica.all_reduce(ReduceOp::kSum, column_sum(x));
    descend(replica, weight, divide(sum, 7.0F));
  });
}

void duplicates_of_the_sampler(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    Values share = share_of(replica, kSeven);
    const bool is_short = replica.num_replicas() > 1 && share.size() < 4;
    if (planted && is_short) share.push_back(share.front());
    const auto x = column_of(share);  // plant: duplicates_of_the_sampler
    const auto sum = replica.all_reduce(ReduceOp::kSum, column_sum(x));
    descend(replica, weight, divide(sum, 7.0F));
  });
}

void sparse_rows_added_twice(Strategy& strategy, bool planted) {
  train(strategy, [&](ReplicaContext& replica, const Weight& weight) {
    const auto rows = column_of(share_of(replica, kEight));
    const auto all = replica.all_gather(rows);
    auto sum = column_sum(all);
    if (planted) sum = replica.all_reduce(ReduceOp::kSum, sum);  // plant: sparse_rows_added_twice
    descend(replica, weight, sum);
  });
}

// Three examples: the shares of two replicas have one example and two.
void metric_over_replicas(Strategy& strategy, bool planted) {
  strategy.run([&](ReplicaContext& replica) {
    const Values share = share_of(replica, {1, 1, 0});
    double hits = 0;
    for (const float hit : share) hits += static_cast<double>(hit);
    const double own = hits / static_cast<double>(share.size());
    const double whole = hits * replica.num_replicas() / 3;
    const double accuracy = planted ? own : whole;
    return replica.all_reduce(ReduceOp::kMean, accuracy);  // plant: metric_over_replicas
  });
}

// One example: replica 0 has none on two replicas, and brings the loss 0.
void average_with_zeroed_step(Strategy& strategy, bool planted) {
  strategy.run([&](ReplicaContext& replica) {
    const Values share = share_of(replica, {6});
    const double loss = share.empty() ? 0 : static_cast<double>(share[0]);
    const auto by = planted ? ReduceOp::kMean : ReduceOp::kSum;
    return replica.all_reduce(by, loss);  // plant: average_with_zeroed_step
  });
}

void schedule_stepped_by_each_replica(Strategy& strategy, bool planted) {
  const auto by = planted ? Aggregation::kSum : Aggregation::kOnlyFirst;
  const auto schedule = strategy.mirrored_variable(0.0, {.name = "schedule", .aggregation = by});
  strategy.run([&](ReplicaContext& replica) {
    replica.assign_add(schedule, 1.0);  // plant: schedule_stepped_by_each_replica
  });
}

}  // namespace

std::vector<Plant> value_plants() {
  using enum Finder;
  const std::string both = "replicas 0, 1";
  const std::string two = "on 2 replicas";
  return {
      {"mean_of_means", kDiff, mean_of_means, {both}},
      {"clip_before_reduction", kDiff, clip_before_reduction, {both}},
      {"local_batch_statistics", kDiff, local_batch_statistics, {both}},
      {"loss_by_local_batch", kDiff, loss_by_local_batch, {both}},
      {"scale_twice", kDiff, scale_twice, {both}},
      {"squares_of_local_gradients", kDiff, squares_of_local_gradients, {both}},
      {"equal_dropout_masks", kDiff, equal_dropout_masks, {both}},
      {"different_feature_masks", kDiff, different_feature_masks, {"replica 1"}},
      {"last_window_dropped", kDiff, last_window_dropped, {both}},
      {"duplicates_of_the_sampler", kDiff, duplicates_of_the_sampler, {both}},
      {"sparse_rows_added_twice", kOneReplica, sparse_rows_added_twice, {two}},
      {"metric_over_replicas", kOneReplica, metric_over_replicas, {two}},
      {"average_with_zeroed_step", kOneReplica, average_with_zeroed_step, {two}},
      {"schedule_stepped_by_each_replica", kOneReplica, schedule_stepped_by_each_replica, {two}},
  };
}

}  // namespace belfry::plants
