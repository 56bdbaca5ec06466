// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The update with momentum of docs/examples, on the simulated driver and on a GPU, against numbers
// of double precision.
#include "momentum.h"

#include "belfry/cuda/backend.h"
#include "belfry/launch.h"
#include "belfry/tensor.h"
#include "numbers_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace belfry::cuda::momentum_test {
namespace {

using test::kUnit;

/// A number, and the most that a result of float32 may differ from the number.
struct Bounded {
  double value = 0;
  double error = 0;

  bool admits(float result) const { return std::abs(result - value) <= error; }
};

// a * b + c has two roundings of float32, or one if the processor fuses the product with the sum.
// For operands without errors both together change the result by less than 3 units of
// |a * b| + |c|: a rounding changes a product or a sum by a unit at most, and the third unit covers
// products of roundings. Errors of the operands grow by the roundings.
Bounded product_sum(double a, const Bounded& b, const Bounded& c) {
  return {a * b.value + c.value, (std::abs(a) * b.error + c.error) * (1 + 4 * kUnit) +
                                     3 * kUnit * (std::abs(a * b.value) + std::abs(c.value))};
}

TEST(MomentumExample, IsWithinItsRoundings) {
  constexpr std::size_t kCount = 1000;  // Several blocks, the last with idle threads.
  const Momentum kernel{.rate = 0.1F, .decay = 0.9F};
  Backend backend{{.devices = {0}}};
  const Placement on{&backend, 0};
  const Shape shape{static_cast<std::int64_t>(kCount)};

  std::vector<float> on_host = test::numbers(kCount, 0);
  std::vector<float> velocity_on_host(kCount, 0);
  auto weight = Tensor<float>::from(shape, on_host, on);
  auto velocity = Tensor<float>::full(shape, 0, on);
  std::vector<Bounded> weights;
  for (const float value : on_host) weights.push_back({value, 0});
  std::vector<Bounded> velocities(kCount);

  for (std::uint32_t step = 1; step <= 4; ++step) {
    const std::vector<float> gradient = test::numbers(kCount, step);
    launch(kernel, updates(weight), updates(velocity),
           reads(Tensor<float>::from(shape, gradient, on)));
    kernel.on_host(on_host, velocity_on_host, gradient);
    for (std::size_t i = 0; i < kCount; ++i) {
      velocities[i] = product_sum(kernel.decay, velocities[i], {gradient[i], 0});
      weights[i] = product_sum(-kernel.rate, velocities[i], weights[i]);
    }
  }
  const std::vector<float> weight_there = weight.to_host();
  const std::vector<float> velocity_there = velocity.to_host();
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_TRUE(weights[i].admits(weight_there[i])) << i << ": " << weight_there[i];
    EXPECT_TRUE(velocities[i].admits(velocity_there[i])) << i << ": " << velocity_there[i];
    EXPECT_TRUE(weights[i].admits(on_host[i])) << i << ": " << on_host[i];
    EXPECT_LT(weights[i].error, 1e-5) << "the bound says nothing";
  }
}

}  // namespace
}  // namespace belfry::cuda::momentum_test
