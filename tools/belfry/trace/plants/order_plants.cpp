// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes in merges, variables and shared memory. The comment `// plant: NAME` is on the line of
// the mistake.
#include "belfry/tensor_ops.h"
#include "plant.h"

#include <string>
#include <utility>
#include <vector>

namespace belfry::plants {
namespace {

using Tensors = PerReplica<Tensor<float>>;

MirroredVariable<Tensor<float>> make_variable(Strategy& strategy, const char* name) {
  return strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1.0F); }, {.name = name});
}

Tensor<float> gradient_of(ReplicaContext& replica, float factor) {
  return Tensor<float>::full({2}, factor * static_cast<float>(1 + replica.replica_id()));
}

void descend(Tensor<float>& weight, const Tensor<float>& gradient) {
  subtract_scaled(weight, 0.5F, gradient);
}

void reduction_forgotten(Strategy& strategy, bool planted) {
  const auto weight = make_variable(strategy, "weight");
  strategy.run([&](ReplicaContext& replica) {
    const auto gradient = gradient_of(replica, 1);
    const auto update = [&](CrossReplicaContext& cross, const Tensors& gradients) {
      cross.update(
          weight, descend,
          planted ? cross.broadcast(gradients[0]) : cross.reduce(ReduceOp::kMean, gradients));
    };
    replica.merge_call(update, gradient);  // plant: reduction_forgotten
  });
  strategy.read(weight).to_host();  // Waits for the work.
}

void parameter_left_out(Strategy& strategy, bool planted) {
  const auto weight = make_variable(strategy, "weight");
  const auto bias = make_variable(strategy, "bias");
  strategy.run([&](ReplicaContext& replica) {
    const auto of_weight = gradient_of(replica, 1);
    const auto of_bias = gradient_of(replica, 10);
    const auto update = [&](CrossReplicaContext& cross, const Tensors& w, const Tensors& b) {
      cross.update(weight, descend, cross.reduce(ReduceOp::kMean, w));
      if (!planted) cross.update(bias, descend, cross.reduce(ReduceOp::kMean, b));
    };
    replica.merge_call(update, of_weight, of_bias);  // plant: parameter_left_out
  });
  strategy.read(weight).to_host();  // Waits for the work.
}

void order_of_a_dictionary(Strategy& strategy, bool planted) {
  strategy.run([&](ReplicaContext& replica) {
    const auto x = gradient_of(replica, 1);
    auto first = multiply(x, 3.0F);
    auto second = multiply(x, 5.0F);
    if (planted && replica.replica_id() == 1) std::swap(first, second);
    for (const auto& gradient : {first, second}) {
      replica.all_reduce(ReduceOp::kSum, gradient);  // plant: order_of_a_dictionary
    }
  });
}

void step_skipped_on_one_replica(Strategy& strategy, bool planted) {
  const auto slot = strategy.replica_local_variable(
      ReduceOp::kSum, [] { return Tensor<float>::full({2}, 0.0F); }, {.name = "slot"});
  strategy.run([&](ReplicaContext& replica) {
    const auto gradient = gradient_of(replica, 1);
    const bool skips = planted && replica.replica_id() == 1;
    if (!skips)
      slot.on(replica) = add(slot.on(replica), gradient);  // plant: step_skipped_on_one_replica
    replica.all_reduce(ReduceOp::kMean, gradient);
  });
}

void merge_skipped_on_one_replica(Strategy& strategy, bool planted) {
  strategy.run([&](ReplicaContext& replica) {
    const double loss = 2.0 + 3.0 * replica.replica_id();
    if (planted && loss > 4) return;
    replica.all_reduce(ReduceOp::kMean, loss);  // plant: merge_skipped_on_one_replica
  });
}

void captured_count(Strategy& strategy, bool planted) {
  const auto weight = strategy.mirrored_variable(1.0, {.name = "weight"});
  strategy.run([&](ReplicaContext& replica) {
    const double own = 3.0 + replica.replica_id();
    const double all = replica.all_reduce(ReduceOp::kSum, own);
    const double count = planted ? own : all;
    const auto update = [&, count](CrossReplicaContext& cross, const PerReplica<double>& sums) {
      const auto sum = cross.reduce(ReduceOp::kSum, sums);
      cross.update(weight, [count](double& w, double s) { w -= s / count; }, sum);
    };
    replica.merge_call(update, 10.0);  // plant: captured_count
  });
}

void race_on_captured_vector(Strategy& strategy, bool planted) {
  std::vector<double> losses(planted ? 0 : 2);
  losses.reserve(2);
  strategy.run([&](ReplicaContext& replica) {
    const double loss = 1.0 + replica.replica_id();
    if (planted) {
      losses.push_back(loss);  // plant: race_on_captured_vector
    } else {
      losses[static_cast<std::size_t>(replica.replica_id())] = loss;
    }
    replica.all_reduce(ReduceOp::kSum, loss);
  });
}

void micro_batches_in_host_memory(Strategy& strategy, bool planted) {
  int shared = 0;
  strategy.run([&](ReplicaContext& replica) {
    int own = 0;
    int& batches = planted ? shared : own;
    double gradient = 0;
    for (int micro = 0; micro < 2; ++micro) {
      batches += 1;  // plant: micro_batches_in_host_memory
      gradient += 1.0 + replica.replica_id();
    }
    replica.all_reduce(ReduceOp::kMean, gradient / batches);
  });
}

void order_of_tagged_merges(Strategy& strategy, bool planted) {
  strategy.run([&](ReplicaContext& replica) {
    std::vector<std::string> layers{"bias", "weight"};
    if (planted && replica.replica_id() == 1) std::swap(layers[0], layers[1]);
    for (const std::string& layer : layers) {
      replica.all_reduce(MergeTag{layer}, ReduceOp::kSum, 1.0);  // plant: order_of_tagged_merges
    }
  });
}

void update_that_counts_its_calls(Strategy& strategy, bool planted) {
  const auto weight = strategy.mirrored_variable(8.0, {.name = "weight"});
  strategy.run([&](ReplicaContext& replica) {
    replica.merge_call([&](CrossReplicaContext& cross) {
      int calls = 0;
      const auto divide = [&](double& w) { w /= planted ? ++calls : 2; };
      cross.update(weight, divide);  // plant: update_that_counts_its_calls
    });
  });
}

void weights_before_their_update(Strategy& strategy, bool planted) {
  const auto weight = make_variable(strategy, "weight");
  strategy.run([&](ReplicaContext& replica) {
    auto seen = weight.on(replica);
    const auto update = [&](CrossReplicaContext& cross, const Tensors& gradients) {
      cross.update(weight, descend, cross.reduce(ReduceOp::kMean, gradients));
    };
    replica.merge_call(update, gradient_of(replica, 1));
    if (!planted) seen = weight.on(replica);
    const auto squares = square(seen);  // plant: weights_before_their_update
    replica.all_reduce(ReduceOp::kMean, squares).to_host();
  });
}

}  // namespace

std::vector<Plant> order_plants() {
  using enum Finder;
  const std::string both = "replicas 0, 1";
  const std::string second = "replica 1";
  return {
      {"reduction_forgotten", kExplain, reduction_forgotten, {second}},
      {"parameter_left_out", kExplain, parameter_left_out, {both}},
      {"order_of_a_dictionary", kExplain, order_of_a_dictionary, {second}},
      {"step_skipped_on_one_replica", kExplain, step_skipped_on_one_replica, {second}},
      {"merge_skipped_on_one_replica",
       kError,
       merge_skipped_on_one_replica,
       {"BF-010", "replica 0", second}},
      {"weights_before_their_update", kExplain, weights_before_their_update, {both}},
      {"captured_count", kFunctions, captured_count, {"BF-016", second}},
      {"race_on_captured_vector", kExplore, race_on_captured_vector, {"R0", "R1"}},
      {"micro_batches_in_host_memory", kExplore, micro_batches_in_host_memory, {"R0", "R1"}},
      {"order_of_tagged_merges", kError, order_of_tagged_merges, {"BF-011", "replica 0", second}},
      {"update_that_counts_its_calls",
       kError,
       update_that_counts_its_calls,
       {"BF-053", "replica 0", second}},
  };
}

}  // namespace belfry::plants
