// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-250: an update of a list of variables has the bits of the same rule by elementwise
// operations, variable by variable; changes memory in place; and changes nothing if it is refused.
#include "belfry/fused_update.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace belfry::testing::fused_update_props {
namespace {

class FusedUpdates : public Property {};

template <class T>
using Weights = std::vector<MirroredVariable<Tensor<T>>>;

enum class Rule : std::uint8_t { kPlain, kMomentum, kAdam, kKernel };

/// A kernel of the program's own: velocity += gradient; weight -= rate * velocity, each operation
/// rounded.
template <class T>
struct Accumulated {
  double rate;

  void on_host(std::span<T> weight, std::span<T> velocity, std::span<const T> gradient) const {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      velocity[i] = T(Wide(velocity[i]) + Wide(gradient[i]));
      const T step = T(Wide(rate) * Wide(velocity[i]));
      weight[i] = T(Wide(weight[i]) - Wide(step));
    }
  }
};

struct Recipe {
  Rule rule = Rule::kPlain;
  std::vector<Shape> shapes{};
  std::vector<bool> held{};  ///< Whether a second handle shares the weight.
  int steps = 1;
  double rate = 0;
  double decay = 0;
  std::uint64_t seed = 0;

  template <class T>
  FusedUpdate fused(int step) const {
    switch (rule) {
      case Rule::kPlain:
        return FusedUpdate::plain(rate);
      case Rule::kMomentum:
        return FusedUpdate::momentum(rate, decay);
      case Rule::kAdam:
        return FusedUpdate::adam(step, {.rate = rate, .decay = decay, .second_decay = 0.5});
      case Rule::kKernel:
        break;
    }
    return FusedUpdate::kernel(Accumulated<T>{rate});
  }
};

void showValue(const Recipe& recipe, std::ostream& out) {
  out << "rule " << static_cast<int>(recipe.rule) << ", rate " << recipe.rate << ", decay "
      << recipe.decay << ", seed " << recipe.seed << ", " << recipe.steps << " steps, shapes";
  for (const Shape& shape : recipe.shapes) out << ' ' << to_string(shape);
}

// Rates and decays are exact in every floating type: the elementwise functions take numbers of the
// element type, and the rules take doubles.
Recipe draw_recipe() {
  Recipe recipe;
  recipe.rule = static_cast<Rule>(*rc::gen::inRange(0, 4));
  recipe.steps = *rc::gen::inRange(1, 4);
  recipe.rate = *rc::gen::inRange(1, 64) / 64.0;
  recipe.decay = *rc::gen::inRange(0, 64) / 64.0;
  recipe.seed = *rc::gen::arbitrary<std::uint16_t>();
  for (int left = *rc::gen::inRange(0, 7); left > 0; --left) {
    const auto extents = *rc::gen::resize(
        3, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 6)));
    recipe.shapes.emplace_back(extents);
    recipe.held.push_back(*rc::gen::inRange(0, 3) == 0);
  }
  return recipe;
}

template <class T>
Tensor<T> drawn(const Shape& shape, std::uint64_t seed, int replica) {
  return Tensor<T>::from(shape, values_of<T>({Pattern::kRandom, seed}, replica,
                                             static_cast<std::size_t>(shape.count())));
}

/// A weight with its slots, for updates by functions of tensors.
template <class T>
struct Trained {
  Tensor<T> weight;
  std::vector<Tensor<T>> slots;
  static auto members(auto& self) { return std::tie(self.weight, self.slots); }
};

/// The rule of a recipe by functions of tensors.
template <class T>
void by_functions(const Recipe& recipe, int step, Trained<T>& own, const Tensor<T>& g) {
  const auto number = [](double x) { return T(static_cast<float>(x)); };
  const T rate = number(recipe.rate);
  Tensor<T>& w = own.weight;
  std::vector<Tensor<T>>& slots = own.slots;
  switch (recipe.rule) {
    case Rule::kPlain:
      return subtract_scaled(w, rate, g);
    case Rule::kMomentum:
      scale(slots[0], number(recipe.decay));
      add_to(slots[0], g);
      return subtract_scaled(w, rate, slots[0]);
    case Rule::kKernel:
      add_to(slots[0], g);
      return subtract_scaled(w, rate, slots[0]);
    case Rule::kAdam:
      break;
  }
  scale(slots[0], number(recipe.decay));
  add_scaled(slots[0], number(1 - recipe.decay), g);
  scale(slots[1], number(0.5));
  add_scaled(slots[1], number(0.5), square(g));
  // Numbers that are not exact in 16 bits come as floats, which the typed functions do not take.
  Tensor<T> quotient = sqrt(slots[1]);
  detail::update_unary(UnaryOp::kShift, quotient.any(), {1e-7, 0}, "shift", {});
  quotient = divide(slots[0], quotient);
  const double corrected =
      recipe.rate * std::sqrt(1 - std::pow(0.5, step)) / (1 - std::pow(recipe.decay, step));
  detail::update_unary(UnaryOp::kScale, quotient.any(), {corrected, 0}, "scale", {});
  subtract_from(w, quotient);
}

template <class T>
std::vector<Numbers<T>> numbers_of(Strategy& strategy, const MirroredVariable<Tensor<T>>& weight) {
  std::vector<Numbers<T>> all;
  for (const Tensor<T>& one : strategy.local_values(weight)) all.emplace_back(one.to_host());
  return all;
}

template <class T>
void follows_the_rule(Strategy& strategy, const Recipe& recipe) {
  CrossReplicaContext& cross = strategy.cross_replica();
  const std::size_t count = recipe.shapes.size();
  const std::size_t slots = recipe.fused<T>(1).slots();
  Weights<T> weights, all_slots;
  std::vector<MirroredVariable<Trained<T>>> single;
  for (std::size_t v = 0; v < count; ++v) {
    const Shape& shape = recipe.shapes[v];
    const auto initial = [&] { return drawn<T>(shape, recipe.seed + v, 0); };
    weights.push_back(strategy.mirrored_variable(initial));
    single.push_back(strategy.mirrored_variable([&] {
      return Trained<T>{initial(), std::vector<Tensor<T>>(slots, Tensor<T>::zeros(shape))};
    }));
  }
  for (std::size_t s = 0; s < slots * count; ++s) {
    all_slots.push_back(
        strategy.mirrored_variable([&] { return Tensor<T>::zeros(recipe.shapes[s % count]); }));
  }
  std::vector<std::vector<Numbers<T>>> before;
  std::vector<PerReplica<Tensor<T>>> held;
  for (std::size_t v = 0; v < count; ++v) {
    if (recipe.held[v]) held.push_back(strategy.local_values(weights[v]));
    if (recipe.held[v]) before.push_back(numbers_of(strategy, weights[v]));
  }
  for (int step = 1; step <= recipe.steps; ++step) {
    std::vector<Mirrored<Tensor<T>>> gradients;
    for (std::size_t v = 0; v < count; ++v) {
      const auto own = strategy.run([&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        return drawn<T>(recipe.shapes[v], recipe.seed + 100 + v, replica.replica_id() + step);
      });
      gradients.push_back(cross.reduce(ReduceOp::kMean, own));
      cross.update(
          single[v],
          [&](Trained<T>& both, const Tensor<T>& g) { by_functions(recipe, step, both, g); },
          gradients[v]);
    }
    cross.update_all(weights, recipe.fused<T>(step), all_slots, gradients);
  }
  for (std::size_t v = 0; v < count; ++v) {
    std::vector<Numbers<T>> expected;
    for (const auto& one : strategy.local_values(single[v])) {
      expected.emplace_back(one.weight.to_host());
    }
    RC_ASSERT(numbers_of(strategy, weights[v]) == expected);
  }
  for (std::size_t h = 0; h < held.size(); ++h) {
    std::vector<Numbers<T>> now;
    for (const Tensor<T>& one : held[h]) now.emplace_back(one.to_host());
    RC_ASSERT(now == before[h]);
  }
}

TEST_F(FusedUpdates, HaveTheBitsOfFunctionsOfTensors) {
  testing::asserts("SEM-250");
  holds([this](const BackendRequest& request) {
    const Recipe recipe = *rc::gen::exec(&draw_recipe);
    const int type = *rc::gen::inRange(0, 4);
    Bench bench(*this, request);
    if (type == 0) follows_the_rule<float>(bench.strategy(), recipe);
    if (type == 1) follows_the_rule<double>(bench.strategy(), recipe);
    if (type == 2) follows_the_rule<Float16>(bench.strategy(), recipe);
    if (type == 3) follows_the_rule<BFloat16>(bench.strategy(), recipe);
    if (recipe.shapes.empty()) bench.strategy().run(&meet_with_a_tensor);
  });
}

/// Three weights of two types and their gradients, on a strategy of the factory.
struct Mixed {
  explicit Mixed(Strategy& used) : strategy(used) {}

  Strategy& strategy;
  CrossReplicaContext& cross = strategy.cross_replica();
  MirroredVariable<Tensor<float>> a = made<float>({3}, 1, "a");
  MirroredVariable<Tensor<double>> b = made<double>({2, 2}, 2, "b");
  MirroredVariable<Tensor<float>> c = made<float>({1}, 3, "c");
  MirroredVariable<Tensor<float>> slot_a = made<float>({3}, 0, "slot of a");
  MirroredVariable<Tensor<double>> slot_b = made<double>({2, 2}, 0, "slot of b");
  MirroredVariable<Tensor<float>> slot_c = made<float>({1}, 0, "slot of c");
  Mirrored<Tensor<float>> of_a = gradient<float>({3}, 4);
  Mirrored<Tensor<double>> of_b = gradient<double>({2, 2}, 8);
  Mirrored<Tensor<float>> of_c = gradient<float>({1}, 16);

  template <class T>
  MirroredVariable<Tensor<T>> made(const Shape& shape, T value, const char* name) {
    return strategy.mirrored_variable([&] { return Tensor<T>::full(shape, value); },
                                      {.name = name});
  }
  template <class T>
  Mirrored<Tensor<T>> gradient(const Shape& shape, T value) {
    return cross.reduce(ReduceOp::kMean, strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return Tensor<T>::full(shape, value);
    }));
  }
  template <class T>
  void expect(const MirroredVariable<Tensor<T>>& variable, T value) {
    for (const Tensor<T>& one : strategy.local_values(variable)) {
      for (const T element : one.to_host()) RC_ASSERT(element == value);
    }
  }
  void expect_all(float wa, double wb, float wc, float va, double vb, float vc) {
    expect(a, wa);
    expect(b, wb);
    expect(c, wc);
    expect(slot_a, va);
    expect(slot_b, vb);
    expect(slot_c, vc);
  }
};

TEST_F(FusedUpdates, TakeMixedTypesAndLeaveOutWhatHasNoGradient) {
  testing::asserts("SEM-250");
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Mixed mixed(bench.strategy());
    const FusedUpdate rule = FusedUpdate::momentum(0.5, 0.25);
    mixed.cross.update_all({mixed.a, mixed.b, mixed.c}, rule,
                           {mixed.slot_a, mixed.slot_b, mixed.slot_c},
                           {mixed.of_a, mixed.of_b, mixed.of_c});
    mixed.expect_all(1 - 2, 2 - 4, 3 - 8, 4, 8, 16);
    mixed.cross.update_all({mixed.a, mixed.b, mixed.c}, rule,
                           {mixed.slot_a, mixed.slot_b, mixed.slot_c},
                           {mixed.of_a, TensorValues::none(), std::tuple(mixed.of_c)});
    mixed.expect_all(-1 - 2.5F, -2, -5 - 10, 5, 8, 20);  // 0.25 * 4 + 4, 0.25 * 16 + 16
  });
}

TEST_F(FusedUpdates, ChangeNothingWhenRefused) {
  testing::asserts("SEM-250");
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    Mixed m(strategy);
    const FusedUpdate rule = FusedUpdate::momentum(0.5, 0.25);
    const TensorVariables all{m.a, m.b, m.c};
    const TensorVariables slots{m.slot_a, m.slot_b, m.slot_c};
    const TensorValues gradients{m.of_a, m.of_b, m.of_c};
    const auto whole = m.made<std::int32_t>({3}, 1, "whole");
    const Variable<Tensor<float>> local = strategy.replica_local_variable(
        Aggregation::kOnlyFirst, [] { return Tensor<float>::zeros({3}); });
    using Pair = std::pair<Tensor<float>, float>;
    const auto pair =
        strategy.mirrored_variable([] { return Pair{Tensor<float>::zeros({1}), 1.0F}; });
    const auto refused = [&](const TensorVariables& v, const TensorVariables& s,
                             const TensorValues& g) {
      return code_of([&] { m.cross.update_all(v, rule, s, g); });
    };
    RC_ASSERT(refused(all, slots, {m.of_a, m.of_b}) == ErrorCode::kInvalidArgument);
    RC_ASSERT(refused(all, {m.slot_a, m.slot_b}, gradients) == ErrorCode::kInvalidArgument);
    RC_ASSERT(refused({m.a, m.b, m.a}, slots, gradients) == ErrorCode::kInvalidArgument);
    RC_ASSERT(refused(all, {m.slot_a, m.slot_b, m.a}, gradients) == ErrorCode::kInvalidArgument);
    RC_ASSERT(refused(all, slots, {m.of_a, m.of_b, m.of_a}) == ErrorCode::kShape);
    RC_ASSERT(refused(all, {m.slot_a, m.slot_b, m.slot_a}, gradients) ==
              ErrorCode::kInvalidArgument);
    RC_ASSERT(refused({m.a, m.b, m.slot_c}, {m.slot_a, m.slot_b, m.made<float>({2}, 0, "two")},
                      gradients) == ErrorCode::kShape);
    RC_ASSERT(refused(all, slots, {m.of_a, m.gradient<float>({2, 2}, 1), m.of_c}) ==
              ErrorCode::kDType);
    RC_ASSERT(refused(local, m.slot_a, m.of_a) == ErrorCode::kVariableMismatch);
    RC_ASSERT(refused(MirroredVariable<Tensor<float>>(), m.slot_a, m.of_a) ==
              ErrorCode::kVariableEmpty);
    RC_ASSERT(code_of([&] {
                m.cross.update_all(whole, FusedUpdate::plain(1), {}, m.gradient<float>({3}, 1));
              }) == ErrorCode::kDType);
    RC_ASSERT(code_of([&] {
                m.cross.update_all({m.a, m.b}, FusedUpdate::kernel(Accumulated<float>{1}),
                                   {m.slot_a, m.slot_b}, {m.of_a, m.of_b});
              }) == ErrorCode::kDType);
    if (!strategy.worker_devices().empty()) {
      RC_ASSERT(code_of([&] { m.cross.update_all(pair, FusedUpdate::plain(1), {}, m.of_c); }) ==
                ErrorCode::kDType);
    }
    m.expect_all(1, 2, 3, 0, 0, 0);
  });
}

TEST_F(FusedUpdates, EndWithTheirTransaction) {
  testing::asserts("SEM-250", "SEM-59");
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Mixed m(bench.strategy());
    const auto update = [&] {
      m.cross.update_all({m.a, m.b, m.c}, FusedUpdate::momentum(0.5, 0.25),
                         {m.slot_a, m.slot_b, m.slot_c}, {m.of_a, m.of_b, m.of_c});
    };
    const auto failing = [&] {
      update();
      throw std::domain_error("no step");
    };
    RC_ASSERT_THROWS_AS(m.strategy.transaction(failing), std::domain_error);
    m.expect_all(1, 2, 3, 0, 0, 0);
    m.strategy.transaction(update);
    m.expect_all(-1, -2, -5, 4, 8, 16);
  });
}

// 300 small parameters: a launch for each device, and no memory.
TEST_F(FusedUpdates, TakeALaunchOfEachDeviceAndNoMemory) {
  testing::asserts("SEM-250");
  holds([this](BackendRequest request) {
    request.devices = std::min(request.devices, 3);  // The log of more devices has an end.
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    CrossReplicaContext& cross = strategy.cross_replica();
    constexpr int kParameters = 300;
    Weights<float> weights, velocities;
    std::vector<Mirrored<Tensor<float>>> gradients;
    strategy.run(&meet_with_a_tensor);
    for (int v = 0; v < kParameters; ++v) {
      const auto zeros = [&] { return Tensor<float>::zeros({1 + v % 7}); };
      weights.push_back(strategy.mirrored_variable(zeros));
      velocities.push_back(strategy.mirrored_variable(zeros));
      gradients.push_back(
          cross.broadcast(Tensor<float>::full({1 + v % 7}, 1.0F, strategy.placement(0))));
    }
    const auto step = [&] {
      cross.update_all(weights, FusedUpdate::momentum(0.5, 0.5), velocities, gradients);
    };
    step();  // Components may share memory at first.
    std::vector<std::size_t> peaks;
    const int devices = bench.backend().device_count();
    const auto peak = [&](int device) { return bench.backend().device(device).memory(); };
    for (int d = 0; d < devices; ++d) peaks.push_back(peak(d).peak_bytes);
    const std::uint64_t before = backend_factory().work(bench.backend()).commands;
    const std::size_t live = peak(0).live_bytes;
    step();
    step();
    const std::uint64_t after = backend_factory().work(bench.backend()).commands;
    // Other strategies copy components, or place them elsewhere.
    if (typeid(strategy) == typeid(MirroredStrategy)) {
      RC_ASSERT(after - before <= 2U * static_cast<unsigned>(devices));
      for (int d = 0; d < devices; ++d) {
        RC_ASSERT(peak(d).peak_bytes == peaks[static_cast<std::size_t>(d)]);
      }
      RC_ASSERT(peak(0).live_bytes == live);
    }
    // -0.5 (1 + 1.5 + 1.75)
    for (const Tensor<float>& one : strategy.local_values(weights[299])) {
      for (const float w : one.to_host()) RC_ASSERT(w == -2.125F);
    }
  });
}

}  // namespace
}  // namespace belfry::testing::fused_update_props
