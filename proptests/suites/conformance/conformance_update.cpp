// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about update, steps of optimisers and moving averages. UPD-09 must not compile:
// see core/src/compile_fail.
#include "belfry/tensor_ops.h"
#include "suites/residence.h"
#include "suites/strategy_fixture.h"

#include <cmath>
#include <utility>
#include <vector>

namespace belfry::testing::conformance_update {
namespace {

using Reals = std::vector<double>;
using Weight = MirroredVariable<double>;

// own - rate * gradient, for both residences of lists.
void step_down(Reals& own, const Reals& gradient, double rate) {
  for (std::size_t i = 0; i < own.size(); ++i) own[i] -= rate * gradient[i];
}
void step_down(Tensor<double>& own, const Tensor<double>& gradient, double rate) {
  own = own - rate * gradient;
}

template <class Where>
class DescentRows : public NumericRows<Where, StrategyFixture> {
 protected:
  using Number = decltype(Where::number(0.0));
  using Variable = MirroredVariable<Number>;

  static Variable variable(StrategyFixture& fixture, double first) {
    return fixture.strategy.mirrored_variable([first] { return Where::number(first); });
  }
  static double read(StrategyFixture& fixture, const Variable& variable) {
    return Where::value(fixture.strategy.read(variable));
  }
  static Reals components(StrategyFixture& fixture, const Variable& variable) {
    Reals values;
    for (const Number& one : fixture.strategy.local_values(variable)) {
      values.push_back(Where::value(one));
    }
    return values;
  }
  // Subtracts `rate` times the reduction of the replicas' gradients from the variable.
  static void descend(ReplicaContext& replica, const Variable& weight, const Number& gradient,
                      double rate, ReduceOp op) {
    const auto merge = [rate, op](CrossReplicaContext& cross, const Variable& variable,
                                  const PerReplica<Number>& gradients) {
      cross.update(
          variable, [rate](Number& w, const Number& g) { w = w - rate * g; },
          cross.reduce(op, gradients));
    };
    replica.merge_call(merge, weight, gradient);
  }
  // A step of w = 2 on x = [2, 7], y = [6, 21]. Every replica has all of x and y.
  double step_of(int n, double scale, ReduceOp op) {
    StrategyFixture& fixture = this->fixture(n);
    const Variable w = variable(fixture, 2);
    fixture.strategy.run([&](ReplicaContext& r) {
      const Number& now = w.on(r);
      const Number gradient = 4.0 * (2.0 * now - 6.0) + 14.0 * (7.0 * now - 21.0);
      descend(r, w, scale * gradient, 0.2, op);
    });
    return read(fixture, w);
  }
  // w + b - 1 after each of five steps, starting from 0. The loss of every replica is the square,
  // with both gradients equal to 2 (w + b - 1). `step` changes a parameter and its slot, which
  // begins at `slot`, by the sum of the gradients.
  template <class Step>
  Reals errors_of(int n, double slot, const Step& step) {
    StrategyFixture& fixture = this->fixture(n);
    const Variable w = variable(fixture, 0);
    const Variable b = variable(fixture, 0);
    const Variable of_w = variable(fixture, slot);
    const Variable of_b = variable(fixture, slot);
    const auto merge = [&](CrossReplicaContext& cross, const PerReplica<Number>& gradients) {
      const Mirrored<Number> gradient = cross.reduce(ReduceOp::kSum, gradients);
      step(cross, w, of_w, gradient);
      step(cross, b, of_b, gradient);
    };
    Reals errors;
    for (int i = 0; i < 5; ++i) {
      fixture.strategy.run([&](ReplicaContext& r) {
        const Number gradient = 2.0 * (w.on(r) + b.on(r) - 1.0);
        r.merge_call(merge, gradient);
      });
      errors.push_back(read(fixture, w) + read(fixture, b) - 1);
    }
    return errors;
  }
};

TYPED_TEST_F(DescentRows, UPD_01_MinimizeASquare) {
  for (int n : {1, 2, 3}) {
    StrategyFixture& fixture = this->fixture(n);
    const auto k = this->variable(fixture, 3.25);
    double error = 2.25;
    for (int step = 0; step < 10; ++step) {
      fixture.strategy.run([&](ReplicaContext& r) {
        this->descend(r, k, 2.0 * (k.on(r) - 1.0), 0.2, ReduceOp::kSum);
      });
      const double next = this->read(fixture, k) - 1;
      EXPECT_LT(std::abs(next), std::abs(error));
      // Each step multiplies by 1 - 0.4 n, up to a few roundings.
      EXPECT_NEAR(next, error * (1 - 0.4 * n), 1e-12);
      error = next;
    }
  }
}

TYPED_TEST_F(DescentRows, UPD_02_SumLoss) {
  EXPECT_NEAR(this->step_of(1, 1, ReduceOp::kSum), 23.2, 1e-4);
  EXPECT_NEAR(this->step_of(2, 1, ReduceOp::kSum), 44.4, 1e-4);
}

TYPED_TEST_F(DescentRows, UPD_03_MeanLoss) {
  for (int n : {1, 2}) EXPECT_NEAR(this->step_of(n, 0.5, ReduceOp::kMean), 12.6, 1e-4);
}

TEST(Conformance, UPD_04_TheVariableIsOne) {
  StrategyFixture fixture(2);
  const auto w = fixture.strategy.mirrored_variable(2.0);
  const auto merge = [&](CrossReplicaContext&, const Weight& variable) { return variable == w; };
  EXPECT_EQ(
      list_of(fixture.strategy.run([&](ReplicaContext& r) { return r.merge_call(merge, w); })),
      std::vector<bool>(2, true));
}

TYPED_TEST_F(DescentRows, UPD_05_OneStepOfADenseLayer) {
  using Number = decltype(TypeParam::number(0.0));
  using List = decltype(TypeParam::list(Reals()));
  using Gradients = std::pair<List, Number>;
  for (int n : {1, 2, 3}) {
    StrategyFixture& fixture = this->fixture(n);
    const auto kernel =
        fixture.strategy.mirrored_variable([] { return TypeParam::list(Reals(10, 1.0)); });
    const auto bias = this->variable(fixture, 1);
    // The loss is the output. The gradient is therefore the input, ones.
    fixture.strategy.run([&](ReplicaContext& r) {
      const auto merge = [&](CrossReplicaContext& cross, const PerReplica<Gradients>& gradients) {
        const Mirrored<Gradients> sums = cross.reduce(ReduceOp::kSum, gradients);
        cross.update(
            kernel, [](List& own, const Gradients& g) { step_down(own, g.first, 0.25); }, sums);
        cross.update(
            bias, [](Number& own, const Gradients& g) { own = own - 0.25 * g.second; }, sums);
      };
      r.merge_call(merge, Gradients(TypeParam::list(Reals(10, 1.0)), TypeParam::number(1.0)));
    });
    EXPECT_EQ(TypeParam::values(fixture.strategy.read(kernel)), Reals(10, 1 - 0.25 * n));
    EXPECT_EQ(this->read(fixture, bias), 1 - 0.25 * n);
  }
}

// The final errors are the expected errors of each optimiser, up to a few roundings. Errors never
// grow.
void expect_errors(const Reals& errors, const Reals& wanted) {
  ASSERT_EQ(errors.size(), wanted.size());
  double last = 1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(errors[i], wanted[i], 1e-12);
    EXPECT_LE(std::abs(errors[i]), last);
    last = std::abs(errors[i]);
  }
}

// w -= g / 10: each step multiplies the error by 1 - 0.4 n.
TYPED_TEST_F(DescentRows, UPD_06_TheErrorNeverGrowsByGradientDescent) {
  const auto step = [](auto& cross, const auto& own, const auto&, const auto& gradient) {
    cross.update(own, [](auto& w, const auto& g) { w = w - 0.1 * g; }, gradient);
  };
  expect_errors(this->errors_of(1, 0, step), {-0.6, -0.36, -0.216, -0.1296, -0.07776});
  expect_errors(this->errors_of(2, 0, step), {-0.2, -0.04, -0.008, -0.0016, -0.00032});
}

// v = v / 4 + g, w -= v / 32: as e(k+1) = e(k) + (e(k) - e(k-1)) / 4 - n e(k) / 8, in fractions.
// For two replicas e(k) = -(1 + k / 2) / 2^k.
TYPED_TEST_F(DescentRows, UPD_06_TheErrorNeverGrowsByMomentum) {
  const auto step = [](auto& cross, const auto& own, const auto& velocity, const auto& gradient) {
    cross.update(velocity, [](auto& v, const auto& g) { v = 0.25 * v + g; }, gradient);
    cross.update(own, [](auto& w, const auto& v) { w = w - 0.03125 * v; }, velocity);
  };
  expect_errors(this->errors_of(1, 0, step),
                {-7. / 8, -47. / 64, -311. / 512, -2047. / 4096, -13447. / 32768});
  expect_errors(this->errors_of(2, 0, step), {-3. / 4, -1. / 2, -5. / 16, -3. / 16, -7. / 64});
}

// a += g * g, starting at 9 / 4, and w -= g / (8 root(a)): computed with 40 digits. The first step
// of a single replica is 2 / root(9 / 4 + 4) / 8 = 0.1, of two replicas 4 / root(9 / 4 + 16) / 8.
TYPED_TEST_F(DescentRows, UPD_06_TheErrorNeverGrowsByAdagrad) {
  const auto step = [](auto& cross, const auto& own, const auto& total, const auto& gradient) {
    using std::sqrt;
    cross.update(total, [](auto& a, const auto& g) { a = a + g * g; }, gradient);
    cross.update(
        own, [](auto& w, const auto& g, const auto& a) { w = w - 0.125 * g / sqrt(a); }, gradient,
        total);
  };
  expect_errors(this->errors_of(1, 2.25, step), {-0.8, -0.66523657589415818, -0.56297793163209742,
                                                 -0.48119926290065440, -0.41388160243219246});
  expect_errors(this->errors_of(2, 2.25, step),
                {-0.76591770560773887, -0.62022295743134204, -0.51352700671840151,
                 -0.43023317305735127, -0.36301898011132742});
}

// Overridden: w is an argument, and fn sees its component on the device. fn may not change w: each
// component of v would change w again (SEM-41). To write both variables, update both.
TYPED_TEST_F(DescentRows, UPD_11_OneVariableInsideTheUpdateOfAnother) {
  using Number = decltype(TypeParam::number(0.0));
  StrategyFixture& fixture = this->fixture(2);
  const auto v = this->variable(fixture, 1);
  const auto w = this->variable(fixture, 2);
  const auto grow = [](Number& own) { own = own + 10.0; };
  EXPECT_EQ(code_of([&] {
              fixture.cross.update(v, [&](Number& own) {
                own = own + 1.0;
                fixture.cross.update(w, grow);
              });
            }),
            ErrorCode::kWrongContext);
  EXPECT_EQ(this->components(fixture, v), Reals({1, 1}));
  EXPECT_EQ(this->components(fixture, w), Reals({2, 2}));
  fixture.cross.update(v, [](Number& own, const Number& other) { own = own + other; }, w);
  EXPECT_EQ(this->components(fixture, v), Reals({3, 3}));
  fixture.cross.update(w, grow);
  EXPECT_EQ(this->components(fixture, w), Reals({12, 12}));
}

TEST(Conformance, UPD_12_ResultsOfUpdate) {
  StrategyFixture fixture(2);
  const auto v = fixture.strategy.mirrored_variable(1.0);
  // Overridden: a Mirrored, even if all calls return the same object.
  const Mirrored<int> same = fixture.cross.update(v, [](double&) { return 5; });
  EXPECT_EQ(list_of(same), std::vector<int>({5, 5}));
  const auto tensors = fixture.cross.update(
      v, [](double& own) { return Tensor<float>::full({1}, static_cast<float>(own)); });
  for (int id : {0, 1}) EXPECT_EQ(tensors[id].placement(), fixture.placement(id));
  static_assert(std::is_void_v<decltype(fixture.cross.update(v, [](double&) {}))>);
  // Component by component instead.
  int calls = 0;
  EXPECT_EQ(fixture.cross.update_each(v, [&](double&) { return ++calls; }),
            std::vector<int>({1, 2}));
}

template <class Where>
class AverageRows : public NumericRows<Where, StrategyFixture> {
 protected:
  using List = decltype(Where::list(Reals()));
  using Variable = MirroredVariable<List>;

  static Variable variable(StrategyFixture& fixture, const Reals& first) {
    return fixture.strategy.mirrored_variable([first] { return Where::list(first); });
  }
  static Reals read(StrategyFixture& fixture, const Variable& variable) {
    return Where::values(fixture.strategy.read(variable));
  }
  /// A step of a moving average of replicas' values, by the mean over replicas.
  template <class F>
  static void average(StrategyFixture& fixture, const Variable& variable, const F& value) {
    const auto values = per_replica(fixture, [&](int id) { return Where::list(value(id)); });
    fixture.cross.update(
        variable, [](List& own, const List& mean) { approach(own, mean, 1 - kDecay); },
        fixture.cross.reduce(ReduceOp::kMean, values));
  }
  static Reals without_bias(const Reals& biased, int steps) {
    Reals out = biased;
    for (double& x : out) x /= 1 - std::pow(kDecay, steps);
    return out;
  }
  static Reals own_value(int id) { return {1.0 + id, 2.0 - id}; }

 private:
  static constexpr double kDecay = 0.25;
  static void approach(Reals& own, const Reals& mean, double by) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i] -= by * (own[i] - mean[i]);
  }
  static void approach(Tensor<double>& own, const Tensor<double>& mean, double by) {
    own = own - by * (own - mean);
  }
};

TYPED_TEST_F(AverageRows, MA_01_ValuesOfReplicas) {
  const std::vector<Reals> expected = {{}, {3.25, 4.25}, {3.625, 3.875}};
  for (int n : {1, 2}) {
    StrategyFixture& fixture = this->fixture(n);
    const auto variable = this->variable(fixture, {10, 11});
    this->average(fixture, variable, this->own_value);
    EXPECT_EQ(this->read(fixture, variable), expected[static_cast<std::size_t>(n)]);
  }
}

TYPED_TEST_F(AverageRows, MA_02_WithoutBias) {
  const std::vector<Reals> expected = {{}, {1, 2}, {1.5, 1.5}};
  for (int n : {1, 2}) {
    StrategyFixture& fixture = this->fixture(n);
    const auto variable = this->variable(fixture, {0, 0});
    this->average(fixture, variable, this->own_value);
    EXPECT_EQ(this->without_bias(this->read(fixture, variable), 1),
              expected[static_cast<std::size_t>(n)]);
  }
}

TYPED_TEST_F(AverageRows, MA_03_OneValueTwice) {
  const auto value = [](int) { return Reals{1, 2}; };
  for (int n : {1, 2}) {
    StrategyFixture& fixture = this->fixture(n);
    const auto variable = this->variable(fixture, {10, 11});
    this->average(fixture, variable, value);
    EXPECT_EQ(this->read(fixture, variable), Reals({3.25, 4.25}));
    this->average(fixture, variable, value);
    EXPECT_EQ(this->read(fixture, variable), Reals({1.5625, 2.5625}));
  }
}

TYPED_TEST_F(AverageRows, MA_04_TwoValuesWithoutBias) {
  for (int n : {1, 2}) {
    StrategyFixture& fixture = this->fixture(n);
    const auto variable = this->variable(fixture, {0, 0});
    this->average(fixture, variable, [](int) { return Reals{1, 2}; });
    EXPECT_EQ(this->without_bias(this->read(fixture, variable), 1), Reals({1, 2}));
    this->average(fixture, variable, [](int) { return Reals{10, 0}; });
    const Reals second = this->without_bias(this->read(fixture, variable), 2);
    // 7.6875 / 0.9375 and 0.375 / 0.9375: a single rounding each.
    EXPECT_DOUBLE_EQ(second[0], 8.2);
    EXPECT_DOUBLE_EQ(second[1], 0.4);
  }
}

}  // namespace
}  // namespace belfry::testing::conformance_update
