// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace own_training {

/// All numbers from mid - rad to mid + rad: every result that float arithmetic may have.
///
/// Compilers, Eigen and GPUs add in different orders and fuse products with sums. A ball has the
/// results of all of them. Let u = 2^-24, the relative error of a rounding in float, and
/// g(k) = k u / (1 - k u), the relative error of k roundings.
///
/// - A sum of n terms, of which some are products: a term meets at most n - 1 roundings in
///   additions, whatever the order, and 1 in its product. The float result is within g(n) M of the
///   exact sum, M being the sum of the absolute values of the terms. Sums over replicas are
///   covered, because each replica adds up a part of the terms.
/// - A product of numbers other than 0 is off by up to 2^-150 more if the product underflows;
///   additions are exact then.
/// - exp and log of the C library, of Eigen and of CUDA are within 4 units in the last place, at
///   most 2^-21 of the result. A result of exp below 2^-125 may be anything up to 2^-125.
///
/// Balls are computed in double. A part of 2^-40 more covers the rounding of double.
struct Ball {
  double mid = 0;
  double rad = 0;

  bool contains(double x) const { return std::abs(x - mid) <= rad; }
  /// The largest absolute value.
  double magnitude() const { return std::abs(mid) + rad; }
};

/// The sum of numbers and products, in any order.
class BallSum {
 public:
  BallSum& add(Ball term);
  BallSum& add_product(Ball a, Ball b);
  Ball result() const;

 private:
  int terms_ = 0;
  double mid_ = 0;
  double rad_ = 0;
  double magnitude_ = 0;
};

Ball difference(Ball a, Ball b);
Ball product(Ball a, Ball b);
/// All numbers of `b` are positive.
Ball quotient(Ball a, Ball b);
Ball exponential(Ball x);
/// All numbers of `x` are positive.
Ball logarithm(Ball x);
/// The larger of the numbers.
Ball maximum(Ball a, Ball b);
/// `x` if `decides` is above 0, else 0. If `decides` has numbers of both kinds, the ball has all
/// numbers from 0 to `x`.
Ball if_positive(Ball decides, Ball x);

}  // namespace own_training
