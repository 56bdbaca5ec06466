// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "ball.h"

#include <algorithm>

namespace own_training {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kUnderflow = 0x1p-148;  // Of a product, with later roundings.
constexpr double kFunction = 0x1p-21;    // exp and log, relative.
constexpr double kSmallest = 0x1p-125;   // exp, absolute.
constexpr double kEnlarged = 0x1p-40;

// Adds a part that covers the roundings of double.
Ball enlarged(double mid, double rad, double magnitude) {
  return {mid, rad + kEnlarged * (rad + magnitude)};
}

}  // namespace

BallSum& BallSum::add(Ball term) { return add_product(term, {1, 0}); }

BallSum& BallSum::add_product(Ball a, Ball b) {
  const double magnitude = a.magnitude() * b.magnitude();
  ++terms_;
  mid_ += a.mid * b.mid;
  rad_ += std::abs(a.mid) * b.rad + a.rad * b.magnitude() + (magnitude > 0 ? kUnderflow : 0);
  magnitude_ += magnitude;
  return *this;
}

Ball BallSum::result() const {
  const double roundings = terms_ * kUnit;
  return enlarged(mid_, rad_ + roundings / (1 - roundings) * magnitude_, magnitude_);
}

Ball difference(Ball a, Ball b) { return BallSum().add(a).add({-b.mid, b.rad}).result(); }

Ball product(Ball a, Ball b) { return BallSum().add_product(a, b).result(); }

Ball quotient(Ball a, Ball b) {
  // |(a + d) / (b + e) - a / b| = |d - (a / b) e| / (b + e)
  const double mid = a.mid / b.mid;
  const double rad = (a.rad + std::abs(mid) * b.rad) / (b.mid - b.rad);
  const double magnitude = std::abs(mid) + rad;
  return enlarged(mid, rad + kUnit * magnitude + kUnderflow, magnitude);
}

Ball exponential(Ball x) {
  const double mid = std::exp(x.mid);
  const double rad = mid * std::expm1(x.rad);
  return enlarged(mid, rad + kFunction * (mid + rad) + kSmallest, mid);
}

Ball logarithm(Ball x) {
  const double mid = std::log(x.mid);
  const double rad = x.rad / (x.mid - x.rad);  // The steepest slope is at the smallest number.
  return enlarged(mid, rad + kFunction * (std::abs(mid) + rad), std::abs(mid));
}

Ball maximum(Ball a, Ball b) { return {std::max(a.mid, b.mid), std::max(a.rad, b.rad)}; }

Ball if_positive(Ball decides, Ball x) {
  if (decides.mid - decides.rad > 0) return x;
  if (decides.mid + decides.rad <= 0) return {};
  return {x.mid / 2, std::abs(x.mid) / 2 + x.rad};
}

}  // namespace own_training
