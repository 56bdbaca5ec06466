// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::demo {

/// The largest difference, by rounding alone, between a step on N replicas and the same step on one
/// device.
///
/// An element of the gradient is G = (1/B) (t_1 + ... + t_B): one term for each of the B examples,
/// a product of two binary32 numbers with the same bits on one device and on N, since both numbers
/// depend on one example alone. Let u = 2^-24, g(k) = k u / (1 - k u), and
/// M = (1/B) (|t_1| + ... + |t_B|).
///
/// - A replica with n examples computes S = sum of its terms, scales it by fl(N/B), and the
/// replicas'
///   results are added up and divided by N. A term meets 1 rounding in its product, at most n - 1
///   in additions (the first is to 0 and exact), 1 in fl(N/B), 1 in the scaling, at most N - 1 in
///   the additions over replicas, in whatever order, and 1 in the division: n + N + 2 in all. So
///   the result is within g(n + N + 2) M of G, for n the largest share.
/// - One device meets 1 + (B - 1) + 1 + 1 = B + 2 roundings: within g(B + 2) M of G.
/// - M is computed from the same terms on one device, as a sum A of B absolute values:
///   M <= A / (1 - g(B)) / B.
/// - A product, scaling or division that underflows is off by up to 2^-150 more (additions are
/// exact
///   then). Averaged over the examples that is at most 3 times 2^-150 on N replicas, 2 times 2^-150
///   on one, and 2^-150 in M; 2^-147 covers them and the factors 1 + g.
///
/// Together: |G_N - G_1| <= (g(n + N + 2) + g(B + 2)) A / (1 - g(B)) / B + 2^-147.
///
/// A step then computes v' = fl(fl(m v) + G) and w' = fl(w - fl(r v')) from the same v and w. With
/// |x - fl(x)| <= u |fl(x)| for each rounding and b the bound above,
/// |v'_N - v'_1| <= b_v = b + u (|v'_N| + |v'_1|),
/// |w'_N - w'_1| <= r b_v + u (1 + u) r (|v'_N| + |v'_1|) + u (|w'_N| + |w'_1|) + 2^-148.
///
/// The bounds are evaluated in binary64 and made larger by 2^-40 of themselves, which covers that
/// rounding.
class RoundingBound {
 public:
  /// B examples on N replicas; `share` is the size of the largest share.
  RoundingBound(int examples, int replicas, int share);

  /// For an element of the gradient with terms whose absolute values sum up to `magnitude` (A).
  double gradient(double magnitude) const;

  struct Pair {
    double many = 0;  ///< On N replicas.
    double one = 0;   ///< On one device.
  };
  /// For a weight after a step with `rate`, if the gradient had the bound `gradient`.
  static double weight(double gradient, double rate, Pair velocity, Pair weight);

 private:
  double factor_;
};

}  // namespace belfry::demo
