// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "kernels/operands_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace belfry::fused_update_test {
namespace {

using testing::Elements;
using testing::Pattern;

KernelCall call_of(UpdateRule rule, double rate) {
  KernelCall call;
  call.kind = KernelKind::kFusedUpdate;
  call.parameters.update = rule;
  call.parameters.scalar = rate;
  return call;
}

TEST(FusedUpdate, FollowsTheFormulas) {
  Elements<float> weight(1), first(1), second(1), gradient(1);
  weight[0] = 10;
  gradient[0] = 4;
  KernelCall plain = call_of(UpdateRule::kPlain, 0.5);
  plain.outputs = {weight.operand()};
  plain.inputs = {gradient.operand()};
  run_on_host(plain);
  EXPECT_EQ(weight[0], 8) << "10 - 0.5 * 4";

  first[0] = 6;
  KernelCall momentum = call_of(UpdateRule::kMomentum, 0.25);
  momentum.parameters.decay = 0.5;
  momentum.outputs = {weight.operand(), first.operand()};
  momentum.inputs = plain.inputs;
  run_on_host(momentum);
  EXPECT_EQ(first[0], 7) << "0.5 * 6 + 4";
  EXPECT_EQ(weight[0], 6.25) << "8 - 0.25 * 7";

  weight[0] = 1;
  first[0] = 4;
  second[0] = 8;
  KernelCall adam = call_of(UpdateRule::kAdam, 2);
  adam.parameters.decay = 0.75;
  adam.parameters.second_decay = 0.25;
  adam.parameters.epsilon = 2;
  gradient[0] = std::sqrt(14.0F / 0.75F);
  adam.outputs = {weight.operand(), first.operand(), second.operand()};
  adam.inputs = plain.inputs;
  gradient[0] = 4;
  second[0] = 16;
  run_on_host(adam);
  EXPECT_EQ(first[0], 4) << "0.75 * 4 + 0.25 * 4";
  EXPECT_EQ(second[0], 16) << "0.25 * 16 + 0.75 * 16";
  EXPECT_FLOAT_EQ(weight[0], 1 - 2 * (4.0F / 6.0F)) << "4 / (4 + 2)";
}

// Momentum by a second implementation, for any bits: in the type of computations, rounded by Eigen
// after each operation.
template <class T>
void momentum_is_two_loops(std::uint64_t seed, const std::vector<std::uint8_t>& counts) {
  std::vector<Elements<T>> weights, slots, gradients, before;
  KernelCall call = call_of(UpdateRule::kMomentum, 0.375);
  call.parameters.decay = 0.8125;
  for (const std::uint8_t count : counts) {
    const auto make = [&](std::uint64_t more) {
      return Elements<T>(count, Pattern::kAnyBits, seed + more, more);
    };
    weights.push_back(make(1));
    slots.push_back(make(2));
    gradients.push_back(make(3));
    before.push_back(make(1));
    before.push_back(make(2));
  }
  for (std::size_t k = 0; k < counts.size(); ++k) {
    call.outputs.push_back(weights[k].operand());
    call.outputs.push_back(slots[k].operand());
    call.inputs.push_back(gradients[k].operand());
  }
  run_on_host(call);
  const auto rounded = [](auto x) { return testing::rounded_to<T>(x); };
  using Wide = decltype(testing::value_of(T()));
  const auto wide = [](T x) { return static_cast<Wide>(testing::value_of(x)); };
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const auto velocity = [&](std::size_t i) {
      const T decayed = rounded(Wide(0.8125) * wide(before[2 * k + 1][i]));
      return rounded(wide(decayed) + wide(gradients[k][i]));
    };
    testing::assert_elements(slots[k], velocity);
    testing::assert_elements(weights[k], [&](std::size_t i) {
      const T step = rounded(Wide(0.375) * wide(velocity(i)));
      return rounded(wide(before[2 * k][i]) - wide(step));
    });
  }
}

RC_GTEST_PROP(FusedUpdate, IsOneLoopAfterTheOther,
              (std::uint64_t seed, const std::vector<std::uint8_t>& counts)) {
  RC_PRE(!counts.empty());
  testing::for_floating_types([&](auto* type) {
    momentum_is_two_loops<std::remove_pointer_t<decltype(type)>>(seed, counts);
  });
}

RC_GTEST_PROP(CopyEach, CopiesBits, (std::uint64_t seed, const std::vector<std::uint8_t>& counts)) {
  RC_PRE(!counts.empty());
  testing::for_all_types([&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::vector<Elements<T>> from, to;
    KernelCall call;
    call.kind = KernelKind::kCopyEach;
    for (const std::uint8_t count : counts) {
      from.emplace_back(count, Pattern::kAnyBits, seed + count);
      to.emplace_back(count, Pattern::kZeros, 0);
    }
    for (std::size_t k = 0; k < counts.size(); ++k) {
      call.outputs.push_back(to[k].operand());
      call.inputs.push_back(from[k].operand());
    }
    run_on_host(call);
    for (std::size_t k = 0; k < counts.size(); ++k) {
      RC_ASSERT(counts[k] == 0 ||
                std::memcmp(to[k].data(), from[k].data(), counts[k] * sizeof(T)) == 0);
    }
  });
}

}  // namespace
}  // namespace belfry::fused_update_test
