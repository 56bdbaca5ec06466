// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <belfry/belfry.h>
#include <belfry/tensor_ops.h>

#include <cstdint>
#include <vector>

/// Momentum with sharded velocities (ZeRO, stage 2): weights are on every device, and each replica
/// keeps its rows of the velocities, and gets its rows of the gradient alone.
// [strategy]
class ZeroStrategy : public belfry::Strategy {
 public:
  static constexpr float kRate = 0.25F;
  static constexpr float kDecay = 0.5F;

  struct Parameter {
    belfry::MirroredVariable<belfry::Tensor<float>> weight;
    belfry::ShardedVariable<float> velocity;
  };

  ZeroStrategy(belfry::Backend& backend, const belfry::StrategyOptions& options,
               belfry::CallSite site = belfry::CallSite::here())
      : Strategy(backend, options, site) {}

  /// A weight, and its velocity of zeros, which is made part by part.
  template <class Init>
  Parameter parameter(const Init& init) {
    using namespace belfry;
    Parameter made;
    made.weight = mirrored_variable(init, {.aggregation = Aggregation::kOnlyFirst});
    const Shape shape = read(made.weight).shape();
    const auto zeros = [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
      extents[0] = end - begin;
      return Tensor<float>::zeros(Shape(extents));
    };
    made.velocity = sharded_variable(shape, zeros, Axis(0));
    return made;
  }

  /// velocity = decay * velocity + mean of the gradients; weight -= rate * velocity.
  static void train(belfry::ReplicaContext& replica, const Parameter& parameter,
                    const belfry::Tensor<float>& gradient) {
    using namespace belfry;
    auto& velocity = parameter.velocity.on(replica);
    scale(velocity, kDecay);
    add_to(velocity, replica.reduce_scatter(ReduceOp::kMean, gradient, Axis(0)));
    const auto own = parameter.velocity.rows(replica);
    auto rows = slice(parameter.weight.on(replica), Axis(0), own.begin, own.end);
    subtract_scaled(rows, kRate, velocity);
    replica.assign(parameter.weight, replica.all_gather(rows, Axis(0)));
  }
};
// [strategy]
