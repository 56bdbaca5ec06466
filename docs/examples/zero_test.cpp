// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// ZeroStrategy keeps the contracts of strategies, has the bits of a strategy without shards, and
// needs less memory.
#include "zero_strategy.h"
#include <belfry/sim/backend.h>
#include <belfry/testing/contract_tests.h>
#include <belfry/testing/sim_factory.h>
#include <belfry/testing/strategy_factory.h>
#include <belfry/testing/values.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using belfry::Tensor;
using Numbers = std::vector<float>;

/// As contracts get the strategy: their programs know no parameters, so that it brings one.
class TrainedZero final : public ZeroStrategy {
 public:
  TrainedZero(belfry::Backend& backend, const belfry::StrategyOptions& options)
      : ZeroStrategy(backend, options),
        parameter_(parameter([] { return Tensor<float>::zeros({3, 2}); })) {}

  /// The mistake in a step, in words; empty without a mistake.
  std::string mistake() {
    run([&](belfry::ReplicaContext& replica) {
      const auto id = static_cast<float>(replica.replica_id());
      train(replica, parameter_, Tensor<float>::full({3, 2}, 2 * id));
    });
    velocity_ = velocity_ * kDecay + static_cast<float>(num_replicas() - 1);  // Mean of 2 id.
    const float step = velocity_ * kRate;
    weight_ -= step;
    if (read(parameter_.weight).to_host() != Numbers(6, weight_)) return "another weight";
    return read(parameter_.velocity).to_host() == Numbers(6, velocity_) ? "" : "another velocity";
  }

 private:
  Parameter parameter_;
  float weight_ = 0;
  float velocity_ = 0;
};

const belfry::testing::StrategyOf<TrainedZero> strategies("ZeRO", {}, &TrainedZero::mistake);
const belfry::testing::SimFactory backends;

/// The same training with the whole velocity on every device.
struct Unsharded {
  Unsharded(belfry::Strategy& owner, const Numbers& first, const belfry::Shape& shape)
      : strategy(owner),
        weight(owner.mirrored_variable([&] { return Tensor<float>::from(shape, first); },
                                       {.aggregation = belfry::Aggregation::kOnlyFirst})),
        velocity(owner.mirrored_variable([&] { return Tensor<float>::zeros(shape); })) {}

  void train(const belfry::PerReplica<Tensor<float>>& gradients) {
    auto& cross = strategy.cross_replica();
    const auto mean = cross.reduce(belfry::ReduceOp::kMean, gradients);
    cross.update(
        velocity,
        [](Tensor<float>& v, const Tensor<float>& g) {
          scale(v, ZeroStrategy::kDecay);
          add_to(v, g);
        },
        mean);
    cross.update(
        weight,
        [](Tensor<float>& w, const Tensor<float>& v) {
          subtract_scaled(w, ZeroStrategy::kRate, v);
        },
        velocity);
  }

  belfry::Strategy& strategy;
  belfry::MirroredVariable<Tensor<float>> weight;
  belfry::MirroredVariable<Tensor<float>> velocity;
};

}  // namespace

TEST(Zero, HasTheBitsOfTrainingWithoutShards) {
  EXPECT_TRUE(rc::check([] {
    using belfry::testing::Pattern;
    using belfry::testing::values_of;
    const int replicas = *rc::gen::inRange(1, 8).as("replicas");
    const auto rows = *rc::gen::inRange<std::int64_t>(1, 12).as("rows");
    const auto seed = *rc::gen::arbitrary<std::uint16_t>().as("seed");
    const belfry::Shape shape{rows, 3};
    const auto count = static_cast<std::size_t>(shape.count());
    const Numbers first = values_of<float>({Pattern::kRandom, seed}, 0, count);
    belfry::sim::Backend backend{{.devices = replicas, .seed = seed}};
    const belfry::StrategyOptions options{.order = belfry::ReductionOrder::kReplicaOrder};
    ZeroStrategy zero{backend, options};
    belfry::MirroredStrategy mirrored{backend, options};
    const auto parameter = zero.parameter([&] { return Tensor<float>::from(shape, first); });
    Unsharded unsharded(mirrored, first, shape);
    for (int step = 0; step < 3; ++step) {
      const auto gradient = [&](int id) {
        return Tensor<float>::from(
            shape, values_of<float>({Pattern::kRandom, seed + 1U + static_cast<unsigned>(step)}, id,
                                    count));
      };
      zero.run([&](belfry::ReplicaContext& replica) {
        ZeroStrategy::train(replica, parameter, gradient(replica.replica_id()));
      });
      unsharded.train(mirrored.distribute_values(gradient));
      for (const auto& weight : zero.local_values(parameter.weight)) {
        RC_ASSERT(weight.to_host() == mirrored.read(unsharded.weight).to_host());
      }
      RC_ASSERT(zero.read(parameter.velocity).to_host() ==
                mirrored.read(unsharded.velocity).to_host());
    }
  }));
}

// A weight and its velocity of 1 MiB each: between steps a device has 1.25 MiB in place of 2.
TEST(Zero, KeepsAQuarterOfTheVelocitiesOnADevice) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const belfry::Shape shape{1024, 256};
  belfry::sim::Backend backend{{.devices = 4}};
  ZeroStrategy strategy{backend, {}};
  const auto parameter = strategy.parameter([&] { return Tensor<float>::zeros(shape); });
  for (int step = 0; step < 2; ++step) {
    strategy.run([&](belfry::ReplicaContext& replica) {
      ZeroStrategy::train(replica, parameter, Tensor<float>::full(shape, 1));
    });
    for (const auto& weight : strategy.local_values(parameter.weight)) weight.to_host();
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(backend.device(i).memory().live_bytes, kBytes + kBytes / 4);
    }
  }
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  belfry::testing::register_contract_tests("Zero", strategies, backends);
  return RUN_ALL_TESTS();
}
